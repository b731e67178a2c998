// Command release makes what a release consists of, from a commit and nothing else, so that anybody who builds the same commit gets the same digests:
// docs/design/release.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

const usage = `usage: release COMMAND [flags]

  build    write images, archives, manifests, chart, SBOMs, provenance and checksums to a folder
  push     send the images and the chart of that folder to a registry
  base     write a base image with certificates, time zones and the user 65532, where distroless can't be fetched
  changes  say what changed of the API, flags, metrics and reasons between two commits
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("a command is missing\n%s", usage)
	}
	commands := map[string]func(context.Context, *flag.FlagSet, []string) error{"build": build, "push": push, "base": base, "changes": changes}
	command, known := commands[args[0]]
	if !known {
		return fmt.Errorf("there is no command %q\n%s", args[0], usage)
	}
	err := command(ctx, flag.NewFlagSet("release "+args[0], flag.ContinueOnError), args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

func build(ctx context.Context, flags *flag.FlagSet, args []string) error {
	o := options{}
	flags.StringVar(&o.root, "root", ".", "the `folder` of the repository")
	flags.StringVar(&o.out, "out", "dist", "the `folder` to write to; what is in it is deleted")
	flags.StringVar(&o.version, "version", "", "the version, such as v1.2.3")
	flags.StringVar(&o.repository, "repository", "ghcr.io/orkspace", "where the images will be")
	flags.StringVar(&o.downloads, "downloads", "https://github.com/orkspace/orkestra/releases/download", "the `address` of the folder with a folder for each release, which krew is told")
	flags.StringVar(&o.base, "base", "", "what the images are built on: an image by digest, or a `folder` with an OCI layout")
	flags.StringVar(&o.helm, "helm", "bin/helm", "the `file` with Helm")
	flags.StringVar(&o.kubectl, "kubectl", "bin/orkestra-cluster kubectl", "the `command` with kustomize")
	flags.StringVar(&o.since, "since", "", "the `commit` of the release before; without one, nothing is compared")
	images := flags.String("images", "linux/amd64,linux/arm64", "platforms of images")
	archives := flags.String("archives", "darwin/amd64,darwin/arm64,linux/amd64,linux/arm64,windows/amd64,windows/arm64", "platforms of archives")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.images, err = parsePlatforms(*images); err != nil {
		return fmt.Errorf("-images: %w", err)
	}
	if o.archives, err = parsePlatforms(*archives); err != nil {
		return fmt.Errorf("-archives: %w", err)
	}
	if o.source, err = readSource(ctx, o.root); err != nil {
		return err
	}
	return o.run(ctx)
}

func push(ctx context.Context, flags *flag.FlagSet, args []string) error {
	from := flags.String("from", "dist/oci", "the OCI layout that build wrote")
	repository := flags.String("repository", "ghcr.io/orkspace", "where to push")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return pushAll(ctx, *from, *repository, os.Stdout)
}

func base(_ context.Context, flags *flag.FlagSet, args []string) error {
	out := flags.String("out", "dist-base", "the `folder` to write the OCI layout to, which must not exist")
	certificates := flags.String("certificates", "/etc/ssl/certs/ca-certificates.crt", "the `file` with the certificates of CAs")
	list := flags.String("images", "linux/amd64,linux/arm64", "platforms")
	if err := flags.Parse(args); err != nil {
		return err
	}
	platforms, err := parsePlatforms(*list)
	if err != nil {
		return fmt.Errorf("-images: %w", err)
	}
	return writeBase(*out, *certificates, platforms)
}

func changes(ctx context.Context, flags *flag.FlagSet, args []string) error {
	root := flags.String("root", ".", "the `folder` of the repository")
	from := flags.String("from", "", "the `commit` of the release before")
	to := flags.String("to", "HEAD", "the `commit` of this release")
	version := flags.String("version", "", "the version; docs/changelog.md has to name under it what was removed or changed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := compareReleases(ctx, *root, *from, *to, *version)
	if err != nil {
		return err
	}
	_, err = fmt.Println(text)
	return err
}

// platform is an operating system and an architecture, by Go's names.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

const windows = "windows"

// suffix is what the name of a program ends with.
func (p platform) suffix() string {
	if p.os == windows {
		return ".exe"
	}
	return ""
}

// known are the platforms that the command line is for.
func known(p platform) bool {
	switch p.os {
	case "linux", "darwin", windows:
		return p.arch == "amd64" || p.arch == "arm64"
	}
	return false
}

func parsePlatforms(list string) ([]platform, error) {
	var out []platform
	for item := range strings.SplitSeq(list, ",") {
		system, arch, _ := strings.Cut(item, "/")
		p := platform{system, arch}
		if !known(p) {
			return nil, fmt.Errorf("platform %q: wanted linux, darwin or windows, a slash, and amd64 or arm64", item)
		}
		if slices.Contains(out, p) {
			return nil, fmt.Errorf("platform %q is given twice", item)
		}
		out = append(out, p)
	}
	return out, nil
}
