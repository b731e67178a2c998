package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/app"
	"github.com/orkspace/orkestra/test/fixtures"
)

// sdk names the packages of which the default binary has none.
var sdk = regexp.MustCompile(`^(github\.com/aws/|go\.mongodb\.org/|github\.com/orkspace/orkestra/engine/provider/)`)

func TestTheDefaultBinaryHasNoSDK(t *testing.T) {
	g := gomega.NewWithT(t)
	has := func(command string) int {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../"+command).Output()
		g.Expect(err).NotTo(gomega.HaveOccurred())
		n := 0
		for name := range strings.FieldsSeq(string(out)) {
			if sdk.MatchString(name) {
				n++
			}
		}
		return n
	}
	g.Expect(has("orkestra")).To(gomega.BeZero())
	g.Expect(has("orkestra-providers")).To(gomega.BeNumerically(">", 50), "this one has them")
}

var setUp = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`)

// What a program's packages set up before main runs, nobody can put off: tables of the SDKs. All else waits until a box uses it.
func TestNothingOfAnSDKIsInitialisedBeforeItIsUsed(t *testing.T) {
	g := gomega.NewWithT(t)
	binary := filepath.Join(t.TempDir(), "orkestra-providers")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	g.Expect(err).NotTo(gomega.HaveOccurred(), string(out))
	cmd := exec.CommandContext(t.Context(), binary, "explain", "providers")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err = cmd.Output()
	g.Expect(err).NotTo(gomega.HaveOccurred(), said.String())
	g.Expect(string(out)).To(gomega.HaveSuffix("\n\nPROVIDER\naws\nmongodb\n"))
	total := 0
	for _, match := range setUp.FindAllStringSubmatch(said.String(), -1) {
		if sdk.MatchString(match[1]) {
			n, err := strconv.Atoi(match[2])
			g.Expect(err).NotTo(gomega.HaveOccurred())
			total += n
		}
	}
	g.Expect(total).To(gomega.And(gomega.BeNumerically(">", 0), gomega.BeNumerically("<", 2<<20)), "bytes of tables:\n%s", said.String())
}

func TestValidateKnowsTheKinds(t *testing.T) {
	const box = `{apiVersion: orkestra.orkspace.io/v1alpha1, kind: OperatorBox, metadata: {name: x}, spec: {crd: {name: xs.example.com}, providers: {
  aws: [{id: a, s3bucket: {name: a, region: eu-west-1, versionin: true}, credentials: {secretRef: {name: aws}}}], mongo: [{id: b, database: {name: b}}]}}}`
	g := gomega.NewWithT(t)
	stdout, stderr, code := fixtures.Run(t, app.NewCommand(app.Options{Providers: registered()}), box, "validate", "-f", "-")
	g.Expect(code).To(gomega.Equal(1))
	g.Expect(stdout).To(gomega.ContainSubstring(`spec.providers.aws[0].s3bucket.versionin: unknown field, did you mean "versioning"?`))
	g.Expect(stdout).To(gomega.ContainSubstring(`spec.providers.mongo: Invalid value: "mongo": this manager has no provider "mongo" (it has aws, mongodb), did you mean "mongodb"?`))
	g.Expect(stderr).NotTo(gomega.ContainSubstring("which providers"))

	_, _, code = fixtures.Run(t, app.NewCommand(app.Options{}), box, "validate", "-f", "-")
	g.Expect(code).To(gomega.BeZero(), "what the manager has is not known here")
}

func TestExplainOfProviders(t *testing.T) {
	for name, tc := range map[string]struct {
		path string
		want []string
	}{
		"all":        {"providers", []string{"PROVIDER\naws\nmongodb\n"}},
		"kinds":      {"providers.aws", []string{"route53record\n    A DNS record", "s3bucket\n    A bucket", "sqsqueue\n    A queue"}},
		"a kind":     {"providers.aws.s3bucket", []string{"\nFIELDS:\n", "  name <string> -required-\n    Name of the bucket", "  versioning <boolean>\n", "\nOUTPUTS, BELOW .providers.<id>:\n  arn <string>\n", "IDENTITY: name, region; ", "CREDENTIALS: a Secret with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN (optional)\n", "WEB IDENTITY: or a token of a ServiceAccount for sts.amazonaws.com\n"}},
		"a field":    {"providers.aws.s3bucket.lifecycle.transitions", []string{"FIELDS:\n  days <integer> -required-\n", "  storageClass <string> -required-\n"}},
		"a database": {"providers.mongodb.user", []string{"SECRETS: passwordSecretRef name a key of a Secret", "ENDPOINT: is needed"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			stdout, stderr, code := fixtures.Run(t, app.NewCommand(app.Options{Providers: registered()}), "", "explain", tc.path)
			g.Expect(code).To(gomega.BeZero(), stderr)
			for _, part := range tc.want {
				_, rest, found := strings.Cut(stdout, part)
				g.Expect(found).To(gomega.BeTrue(), "%s lacks, or has too early:\n%s", stdout, part)
				stdout = rest
			}
		})
	}
	for path, want := range map[string]string{
		"providers.asw": `there is no provider "asw", did you mean "aws"?`, "providers.aws.s3buket": `provider "aws" has no kind "s3buket", did you mean "s3bucket"?`,
		"providers.aws.s3bucket.versionin": `providers.aws.s3bucket has no field "versionin", did you mean "versioning"?`, "providers.aws.s3bucket.": "",
	} {
		g := gomega.NewWithT(t)
		_, stderr, code := fixtures.Run(t, app.NewCommand(app.Options{Providers: registered()}), "", "explain", path)
		g.Expect(code).NotTo(gomega.BeZero())
		g.Expect(stderr).To(gomega.ContainSubstring(want))
	}
}

// Clients of services, and what they keep running, are made for a call, and not before.
func TestRegisteringProvidersSetsUpNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	before := runtime.NumGoroutine()
	g.Expect(testing.AllocsPerRun(10, func() { registered() })).To(gomega.BeNumerically("<", 20), "an SDK's client alone takes hundreds of allocations")
	registry := registered()
	for _, name := range registry.Names() {
		g.Expect(registry.Get(name).Kinds()).NotTo(gomega.BeEmpty())
	}
	g.Expect(runtime.NumGoroutine()).To(gomega.BeNumerically("<=", before), "some of other tests may have ended meanwhile")
}
