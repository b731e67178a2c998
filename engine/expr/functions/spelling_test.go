package functions_test

import "testing"

func TestSpellingFuncs(t *testing.T) {
	expectGiven(t, map[string]string{
		`lower "ÀÉ1"`:                     `"àé1"`,
		`lower ""`:                        `""`,
		`upper "straße"`:                  `"STRAßE"`,
		`title "o'neil  van-dyke"`:        `"O'neil  Van-dyke"`,
		`title ""`:                        `""`,
		`title "ǆ"`:                       `"ǅ"`,
		`untitle "Hello BIG World"`:       `"hello bIG world"`,
		`capitalize "ärger HERE"`:         `"Ärger HERE"`,
		`capitalize ""`:                   `""`,
		`uncapitalize "ÄRGER"`:            `"äRGER"`,
		`swapcase "aB ßC1"`:               `"Ab ßc1"`,
		`camelcase "http-server_name x"`:  `"HttpServerNameX"`,
		`camelcase "HTTPServer"`:          `"HTTPServer"`,
		`camelcase ""`:                    `""`,
		`toCamelCase "Http server"`:       `"httpServer"`,
		`toCamelCase "_x_"`:               `"x"`,
		`snakecase "HTTPServerName2"`:     `"http_server_name_2"`,
		`snakecase "already_snake"`:       `"already_snake"`,
		`snakecase "with-dash and space"`: `"with_dash_and_space"`,
		`kebabcase "FooBar_baz"`:          `"foo-bar-baz"`,
		`toConstantCase "fooBar9"`:        `"FOO_BAR_9"`,
		`toDotCase "FooBar"`:              `"foo.bar"`,
		`toPathCase "Foo Bar"`:            `"foo/bar"`,
		`initials "ärger  big World"`:     `"äbW"`,
		`initials ""`:                     `""`,
		`plural "one" "many" 0`:           `"many"`,
		`plural "one" "many" 1`:           `"one"`,
		`plural "one" "many" -1`:          `"many"`,
		`plural "one" "many" 1.0`:         `"one"`,
		`plural "one" "many" "1"`:         `! plural: argument 3 must be a whole number, not a string; use toInt`,
	})
}
