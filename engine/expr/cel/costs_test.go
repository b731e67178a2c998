package cel

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// Every function of CEL that is enabled has a cost, or only reads the text that it is given: a new one must be looked at.
func TestEveryFunctionHasACost(t *testing.T) {
	g := NewWithT(t)
	base, err := newBase()
	g.Expect(err).NotTo(HaveOccurred())
	known := strings.Fields(linearInText)
	for name := range base.env.Functions() {
		_, counted := costs()[name]
		g.Expect(counted || strings.HasPrefix(name, "format.") || slices.Contains(known, name)).To(BeTrue(), "%s has no cost", name)
	}
}

// linearInText are functions whose work is that of reading their texts once, or less.
const linearInText = `!_ -_ @not_strictly_false __not_strictly_false__ _%_ _&&_ _*_ _-_ _/_ _<=_ _<_ _>=_ _>_ _?._ _?_:_ _[?_] _[_] _||_
add allowed asApproximateFloat asInteger bool bytes charAt check cidr compareTo contains containsCIDR containsIP double duration dyn endsWith
error errored family fieldSelector first getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost getHostname
getHours getMilliseconds getMinutes getMonth getPort getQuery getScheme getSeconds group hasValue int ip ip.isCanonical isCIDR
isLinkLocalMulticast isGlobalUnicast isGreaterThan isIP isInteger isLessThan isLinkLocalUnicast isLoopback isSemver isURL isUnspecified
labelSelector last lowerAscii major masked minor name namespace optional.none optional.of optional.ofNonZeroValue optional.unwrap or
orValue patch path prefixLength reason resource semver serviceAccount sign size startsWith string strings.quote sub subresource substring
string timestamp trim type uint unwrapOpt upperAscii url value`
