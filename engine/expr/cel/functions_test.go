package cel_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// expectTrue evaluates expressions, each of which says what it expects.
func expectTrue(t *testing.T, expressions ...string) {
	t.Helper()
	scope := testScope()
	for _, text := range expressions {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			p, err := scope.CompileCEL(text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Eval(t.Context(), testData())).To(BeTrue())
		})
	}
}

// Operators have the meaning of the rules in a CRD, and compare numbers of any type.
func TestCEL_operators(t *testing.T) {
	expectTrue(t,
		`1 + 2 == 3 && 5 - 7 == -2 && 2 * 3 == 6 && 7 / 2 == 3 && 7 % 3 == 1`,
		`1.5 + 1.5 == 3.0 && 1.0 / 4.0 == 0.25 && -(-1) == 1`,
		`dyn(1) == 1.0 && 1 < 1.5 && 2u > 1 && 1 <= 1.0`,
		`9007199254740993 != 9007199254740992`,
		`'a' < 'b' && 'B' < 'a' && 'a' + 'b' == 'ab'`,
		`b'a' + b'b' == b'ab' && size(b'abc') == 3`,
		`true && !false || false`,
		`!(false && 1 / 0 > 0)`,
		`true || 1 / 0 > 0`,
		`[1, 2] + [3] == [1, 2, 3]`,
		`[] == [] && [1] != [2] && dyn([1]) == [1.0]`,
		`dyn({'a': 1}) == {'a': 1.0} && {'a': 1} != {'b': 1}`,
		`2 in [1, 2] && !(3 in [1, 2])`,
		`'a' in {'a': 1} && !('b' in {'a': 1})`,
		`[1, 2][1] == 2 && {'a': 5}['a'] == 5 && {'a': 5}.a == 5`,
		`(true ? 1 : 2) == 1 && (false ? 1 : 2) == 2`,
		`dyn(1) == 1 && dyn('a') != dyn(1)`,
		`null == null && dyn(null) != 0`,
		`type(1) == int && type('') == string && type([]) == list && type({}) == map`,
		`int('5') == 5 && int(5.9) == 5 && double('1.5') == 1.5 && uint(3) == 3u`,
		`string(1) == '1' && string(true) == 'true' && string(1.5) == '1.5' && bool('true')`,
		`string(bytes('é')) == 'é'`,
	)
}

// The functions of text are those of version 2 of CEL's library.
func TestCEL_text(t *testing.T) {
	expectTrue(t,
		`'hello'.size() == 5 && 'é'.size() == 1`,
		`'hello'.charAt(1) == 'e' && 'hello'.charAt(5) == ''`,
		`'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')`,
		`'hello'.indexOf('l') == 2 && 'hello'.indexOf('l', 3) == 3 && 'hello'.indexOf('x') == -1`,
		`'hello'.lastIndexOf('l') == 3 && 'hello'.lastIndexOf('l', 2) == 2`,
		`'Hello É'.lowerAscii() == 'hello É' && 'abc'.upperAscii() == 'ABC'`,
		`'hello'.replace('l', 'L') == 'heLLo' && 'hello'.replace('l', 'L', 1) == 'heLlo'`,
		`'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'ab'.split('') == ['a', 'b']`,
		`'hello'.substring(1) == 'ello' && 'hello'.substring(1, 3) == 'el'`,
		`' a \t'.trim() == 'a'`,
		`['a', 'b'].join() == 'ab' && ['a', 'b'].join(', ') == 'a, b'`,
		`'%s is %d and %.2f'.format(['a', 1, 1.5]) == 'a is 1 and 1.50'`,
		`'%x %o %b'.format([255, 8, 5]) == 'ff 10 101'`,
		`'%s'.format([[1, 2]]) == '[1, 2]'`,
		`strings.quote('a"b') == '"a\\"b"'`,
		`'hello'.matches('^h.*o$') && !'hello'.matches('^x')`,
		`'a1b22'.find('[0-9]+') == '1' && 'abc'.find('[0-9]') == ''`,
		`'a1b22c3'.findAll('[0-9]+') == ['1', '22', '3'] && 'a1b22c3'.findAll('[0-9]+', 2) == ['1', '22'] && 'abc'.findAll('[0-9]') == []`,
	)
}

// Macros and the functions of lists, sets and maps.
func TestCEL_lists(t *testing.T) {
	expectTrue(t,
		`[1, 2, 3].all(x, x > 0) && ![1, -1].all(x, x > 0) && [].all(x, false)`,
		`[1, 2].exists(x, x == 2) && ![].exists(x, true)`,
		`[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].exists_one(x, x == 2)`,
		`[1, 2].map(x, x * 2) == [2, 4] && [1, 2].map(x, x > 1, x * 2) == [4]`,
		`[1, 2, 3].filter(x, x % 2 == 1) == [1, 3]`,
		`{'a': 1, 'b': 2}.all(k, k in ['a', 'b']) && {'a': 1}.exists(k, k == 'a')`,
		`{'a': 1, 'b': 2}.map(k, k).sort() == ['a', 'b']`,
		`{'a': 1}.all(k, v, v == 1) && [5].exists(i, v, i == 0 && v == 5)`,
		`[5, 6].transformList(i, v, i + v) == [5, 7] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}`,
		`{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}`,
		`[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [].sum() == 0`,
		`[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3`,
		`[1, 2].isSorted() && ![2, 1].isSorted()`,
		`[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1`,
		`[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b']`,
		`['bb', 'a'].sortBy(x, x.size()) == ['a', 'bb']`,
		`[1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1]`,
		`[1, 2, 3, 4].slice(1, 3) == [2, 3] && [[1], [2, 3]].flatten() == [1, 2, 3] && [[[1]], [[2]]].flatten(2) == [1, 2]`,
		`lists.range(3) == [0, 1, 2] && lists.range(0) == []`,
		`lists.range(self.spec.replicas).size() == self.spec.replicas && lists.range('abc'.size()).map(i, i * 2) == [0, 2, 4]`,
		`[1, 2, 3].slice(self.spec.replicas - self.spec.replicas, 2) == [1, 2] && [1, 2, 3].slice(0, 'ab'.size()) == [1, 2]`,
		`[[1], [2]].flatten(self.spec.replicas - self.spec.replicas + 1) == [1, 2] && 'abc'.substring(self.spec.replicas - self.spec.replicas) == 'abc'`,
		`[1, 2].first().value() == 1 && ![].first().hasValue() && [1, 2].last().value() == 2`,
		`sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1]) && sets.intersects([1], [1, 2])`,
	)
}

// What may be absent can be asked for.
func TestCEL_optional(t *testing.T) {
	expectTrue(t,
		`optional.of(1).value() == 1 && optional.none().orValue(2) == 2`,
		`optional.ofNonZeroValue('') == optional.none() && optional.of(1).hasValue()`,
		`optional.of(1).or(optional.of(2)).value() == 1 && optional.none().or(optional.of(2)).value() == 2`,
		`optional.of(2).optMap(x, x * 2).value() == 4`,
		`optional.of(2).optFlatMap(x, optional.of(x)).value() == 2`,
		`{'a': 1}[?'a'].value() == 1 && !{'a': 1}[?'b'].hasValue()`,
		`[1][?0].value() == 1 && ![1][?5].hasValue()`,
		`[?optional.none(), ?optional.of(1)] == [1]`,
		`{?'a': optional.none()} == {}`,
		`[optional.of(1), optional.none()].unwrapOpt() == [1]`,
		`self.?spec.?image.orValue('x') == 'caddy'`,
		`self.spec.?tls.?secret.optMap(s, s + '!').orValue('none') == 'none'`,
	)
}

// Time and durations: the zone is UTC unless another is named.
func TestCEL_time(t *testing.T) {
	expectTrue(t,
		`timestamp('2026-01-02T03:04:05Z').getFullYear() == 2026`,
		`timestamp('2026-01-02T03:04:05Z').getMonth() == 0 && timestamp('2026-01-02T03:04:05Z').getDayOfMonth() == 1`,
		`timestamp('2026-01-02T03:04:05Z').getDate() == 2 && timestamp('2026-01-02T03:04:05Z').getDayOfYear() == 1`,
		`timestamp('2026-01-02T03:04:05Z').getDayOfWeek() == 5`,
		`timestamp('2026-01-02T03:04:05Z').getHours() == 3 && timestamp('2026-01-02T03:04:05Z').getHours('+02:00') == 5`,
		`timestamp('2026-01-02T03:04:05.006Z').getMilliseconds() == 6`,
		`duration('90m').getHours() == 1 && duration('90m').getMinutes() == 90 && duration('1m').getSeconds() == 60`,
		`timestamp('2026-01-01T00:00:00Z') + duration('24h') == timestamp('2026-01-02T00:00:00Z')`,
		`timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')`,
		`duration('1h') > duration('59m') && duration('1h') + duration('30m') == duration('90m')`,
		`self.spec.every + duration('30s') == duration('2m')`,
		`self.spec.until > timestamp(self.metadata.creationTimestamp)`,
	)
}

// The libraries of the API server.
func TestCEL_kubernetes(t *testing.T) {
	expectTrue(t,
		`quantity('1.5Gi').isGreaterThan(quantity('1Gi')) && quantity('500m').isLessThan(quantity('1'))`,
		`quantity('1k').asInteger() == 1000 && quantity('1500m').asApproximateFloat() == 1.5`,
		`quantity('1').add(quantity('2')).compareTo(quantity('3')) == 0 && quantity('3').sub(1).asInteger() == 2`,
		`isQuantity('1Ki') && !isQuantity('x') && sign(quantity('-1')) == -1 && quantity('2').isInteger()`,
		`ip('10.0.0.1').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback()`,
		`isIP('10.0.0.1') && !isIP('10.0.0.256') && ip.isCanonical('::1') && !ip.isCanonical('::0001')`,
		`ip('169.254.1.1').isLinkLocalUnicast() && ip('0.0.0.0').isUnspecified() && ip('8.8.8.8').isGlobalUnicast()`,
		`cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP('11.0.0.1')`,
		`cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.0.0.0/8').prefixLength() == 8`,
		`cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').ip() == ip('10.0.0.0') && isCIDR('10.0.0.0/8')`,
		`isURL('https://a.example.com:80/b?c=d') && !isURL('../x')`,
		`url('https://a.example.com:80/b?c=d').getHost() == 'a.example.com:80' && url('https://a.example.com:80/b').getPort() == '80'`,
		`url('https://a.example.com/b%20c?d=e').getEscapedPath() == '/b%20c' && url('https://a/?d=e').getQuery() == {'d': ['e']}`,
		`url('https://[::1]:80/').getHostname() == '::1' && url('https://a/').getScheme() == 'https'`,
		`semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3`,
		`semver('1.2.3').compareTo(semver('1.2.4')) == -1 && semver('v1.2', true).minor() == 2 && !isSemver('1.2')`,
		`format.dns1123Label().validate('web') == optional.none()`,
		`format.dns1123Label().validate('Web').hasValue() && format.named('uuid').hasValue() && !format.named('x').hasValue()`,
	)
}

// The resource is self; other roots have names of their own.
func TestCEL_data(t *testing.T) {
	expectTrue(t,
		`self.apiVersion == 'demo.example.com/v1' && self.kind == 'Website'`,
		`self.metadata.labels == {'app': 'web'} && self.metadata.labels.app == 'web'`,
		`self.spec.env.size() == 2 && self.spec.env[1].name == 'B'`,
		`!has(self.spec.env[1].value) && has(self.spec.env[0].value)`,
		`self.spec.users.me.role == 'admin' && self.spec.users['me'].role == 'admin'`,
		`self.spec.anything == {'x': 1} && has(self.spec.anything.x) && !has(self.spec.anything.y)`,
		`type(self.spec.ratio) == double && type(self.spec.replicas) == int && type(self.spec.port) == string`,
		`self.spec.ratios == [1.0, 0.5] && self.spec.ratios.sum() == 1.5`,
		`self.spec.raw == b'hi' && self.spec.labels.size() == 1`,
		`has(self.spec) && has(self.metadata) && !has(self.status)`,
		`box.name == 'website' && box.revision == 'website-1'`,
		`children.deployment.status.ready == 2 && has(children.deployment.status.ready)`,
		`children.anything.k == 'v' && !has(children.anything.status)`,
	)
}
