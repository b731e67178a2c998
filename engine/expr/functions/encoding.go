package functions

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-sprout/sprout/registry/backward"
	"github.com/go-sprout/sprout/registry/checksum"
	"github.com/go-sprout/sprout/registry/encoding"
	sproutsemver "github.com/go-sprout/sprout/registry/semver"
	yamlv3 "go.yaml.in/yaml/v3"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/value"
)

func encodingFuncs() []row {
	e, c, v, u := encoding.NewRegistry(), checksum.NewRegistry(), sproutsemver.NewRegistry(), backward.NewRegistry()
	return []row{
		{"toJson", argValue, "VALUE as JSON with sorted keys; < > & are escaped.", `toJson (dict "b" 1 "a" "<")`, `{"a":"\u003c","b":1}`,
			func(v any) (string, error) {
				b, err := json.Marshal(v)
				return string(b), err
			}, nils, "toJSON mustToJson"},
		{"toRawJson", argValue, "The same without escapes.", `toRawJson (list "<")`, `["<"]`, func(v any) (string, error) { return value.JSON(v, "") },
			nils, "toRawJSON mustToRawJson"},
		{"toPrettyJson", argValue, "The same on several lines.", `toPrettyJson (list 1)`, "[\n  1\n]",
			func(v any) (string, error) { return value.JSON(v, "  ") }, nils, "toPrettyJSON mustToPrettyJson"},
		{"fromJson", argText, "The value that the JSON in TEXT stands for.", `(fromJson "{\"a\":1}").a`, "1", fromJSON, counted, "fromJSON mustFromJson"},
		{"toYaml", argValue, "VALUE as YAML with sorted keys, without a line break at its end.", `toYaml (dict "b" 1 "a" (list 2))`, "a:\n- 2\nb: 1",
			func(limits *budget.Budget, v any) (string, error) {
				if err := allocateYAML(limits, v); err != nil {
					return "", err
				}
				b, err := yaml.Marshal(v)
				return strings.TrimSuffix(string(b), "\n"), err
			}, nils, "toYAML mustToYaml"},
		{"toIndentYaml", "SPACES VALUE", "The same, with so many spaces for each level.", `toIndentYaml 4 (dict "a" (dict "b" 1))`, "a:\n    b: 1",
			toIndentYAML, nils, "toIndentYAML mustToIndentYaml"},
		{"fromYaml", argText, "The value that the YAML in TEXT stands for; no anchors.", `(fromYaml "a: 1").a`, "1", fromYAML, counted, "fromYAML mustFromYaml"},
		{"b64enc", argText, "TEXT in base64.", `b64enc "web"`, "d2Vi", e.Base64Encode, 0, "base64Encode"},
		{"b64dec", argText, "What the base64 in TEXT stands for.", `b64dec "aGk="`, "hi", e.Base64Decode, 0, "base64Decode"},
		{"b32enc", argText, "TEXT in base32.", `b32enc "hi"`, "NBUQ====", e.Base32Encode, 0, "base32Encode"},
		{"b32dec", argText, "What the base32 in TEXT stands for.", `b32dec "NBUQ===="`, "hi", e.Base32Decode, 0, "base32Decode"},
		{"sha1sum", argText, "The SHA-1 of TEXT in hex.", `sha1sum "web" | trunc 8`, "ca84d134", c.SHA1Sum, 0, "sha1Sum"},
		{"sha256sum", argText, "The SHA-256 of TEXT in hex.", `sha256sum "web" | trunc 8`, "4b5e57f6", c.SHA256Sum, 0, "sha256Sum"},
		{"sha512sum", argText, "The SHA-512 of TEXT in hex.", `sha512sum "web" | trunc 8`, "cbead8fe", c.SHA512Sum, 0, "sha512Sum"},
		{"md5sum", argText, "The MD5 of TEXT in hex.", `md5sum "web" | trunc 8`, "2567a5ec", c.MD5Sum, 0, "md5Sum"},
		{"hash", argValue, "Ten letters and digits that stand for VALUE, for the names of objects: the same for equal values, in every version.", `hash (dict "a" 1)`, "afnl2724yv",
			hashOf, nils, ""},
		{"adler32sum", argText, "The Adler-32 of TEXT.", `adler32sum "web"`, "43254079", c.Adler32Sum, 0, "adler32Sum"},
		{"semver", argText, "The parts of a version: Major, Minor, Patch, Prerelease, Metadata, Original.", `(semver "v1.2.3").Minor`, "2",
			func(limits *budget.Budget, text string) (any, error) {
				if err := readsVersion(limits, text); err != nil {
					return nil, err
				}
				return versionParts(v.Semver(text))
			}, 0, ""},
		{"semverCompare", "CONSTRAINT VERSION", "Whether VERSION meets CONSTRAINT.", `semverCompare ">=1.2.0" "1.3.0"`, "true",
			func(limits *budget.Budget, constraint, text string) (bool, error) {
				if err := readsVersion(limits, constraint+text); err != nil {
					return false, err
				}
				return v.SemverCompare(constraint, text)
			}, 0, ""},
		{"urlParse", "URL", "The parts of a URL: scheme, host, hostname, path, query, opaque, fragment, userinfo.",
			`(urlParse "https://a.example.com/b").host`, "a.example.com", u.UrlParse, 0, ""},
		{"urlJoin", "MAP", "The URL that such parts make.", `urlJoin (dict "scheme" "https" "host" "a.example.com")`, "https://a.example.com", u.UrlJoin, 0, ""},
	}
}

// hashLength is how many characters of a hash are given: 50 bits, so that two of a thousand values are the same once in two billion times.
const hashLength = 10

// hashOf gives the beginning of the SHA-256 of the value's JSON, in letters and digits that names may hold.
func hashOf(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLength], nil
}

func fromJSON(run *Run, text string) (v any, err error) {
	if err := run.Allocate(budget.Times(budget.BytesOfEntry+budget.BytesOfElement, nodesOf(text, ",:[{")) + len(text)); err != nil {
		return nil, err
	}
	if kubejson.Unmarshal([]byte(text), &v) != nil {
		return nil, badArgument("the text is not valid JSON")
	}
	if err := run.Weigh(v); err != nil { // it may be nested too deeply
		return nil, err
	}
	if m, ok := v.(map[string]any); ok {
		run.own(m)
	}
	return v, nil
}

func toIndentYAML(limits *budget.Budget, spaces int, v any) (string, error) {
	const most = 16
	if spaces < 1 || spaces > most {
		return "", badArgument("SPACES must be from 1 to %d", most)
	}
	if err := allocateYAML(limits, v); err != nil {
		return "", err
	}
	var b strings.Builder
	encoder := yamlv3.NewEncoder(&b)
	encoder.SetIndent(spaces)
	if err := encoder.Encode(v); err != nil {
		return "", badArgument("the value can't be written as YAML")
	}
	return strings.TrimSuffix(b.String(), "\n"), encoder.Close()
}

// fromYAML refuses aliases: a few lines with them can stand for gigabytes.
func fromYAML(run *Run, text string) (v any, err error) {
	if err := run.Allocate(budget.Times(bytesOfYAML, nodesOf(text, ",:[{-\n")) + len(text)); err != nil {
		return nil, err
	}
	var document yamlv3.Node
	if yamlv3.Unmarshal([]byte(text), &document) != nil {
		return nil, badArgument("the text is not valid YAML")
	}
	if hasAlias(&document) {
		return nil, badArgument("the YAML has aliases")
	}
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, badArgument("the text is not valid YAML")
	}
	return fromJSON(run, string(b))
}

// bytesOfYAML is what a parser of YAML takes for each value.
const bytesOfYAML = 512

// nodesOf is how many values a text can hold that one of these characters stands before.
func nodesOf(text, separators string) int {
	n := 1
	for i := range len(text) {
		if strings.IndexByte(separators, text[i]) >= 0 {
			n++
		}
	}
	return n
}

// allocateYAML counts what it takes to write a value as YAML: a tree of all its parts.
func allocateYAML(limits *budget.Budget, v any) error {
	return limits.Allocate(budget.Times(bytesOfYAML, elementsOf(v)))
}

// elementsOf counts the lists, maps and scalars of a value whose weight was checked.
func elementsOf(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			n += elementsOf(element)
		}
	case map[string]any:
		for _, element := range v {
			n += 1 + elementsOf(element)
		}
	}
	return n
}

func hasAlias(n *yamlv3.Node) bool {
	if n.Kind == yamlv3.AliasNode {
		return true
	}
	return slices.ContainsFunc(n.Content, hasAlias)
}

// versionParts gives the fields of a version. They keep the names of the methods that Sprig's templates call.
func versionParts(v *semver.Version, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"Major": int64(v.Major()), "Minor": int64(v.Minor()), "Patch": int64(v.Patch()), //nolint:gosec // Never near 2^63.
		"Prerelease": v.Prerelease(), "Metadata": v.Metadata(), "Original": v.Original(),
	}, nil
}

// readsVersion counts the reading of versions, whose patterns are long.
func readsVersion(limits *budget.Budget, text string) error {
	const longest, workOfByte = 1024, 400
	if len(text) > longest {
		return badArgument("a version is longer than %d characters", longest)
	}
	return limits.Work(workOfByte * len(text))
}
