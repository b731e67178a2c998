package draft

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/provider"
)

// printed is the name of what is printed, where it is read again.
const printed = "the output"

// Options are what a draft is compiled with.
type Options struct {
	// CRDs are those that are given. The draft's own are added.
	CRDs *input.CRDs
	// GiveCRD says how one can be given.
	GiveCRD string
	// Kinds are those of children, beside those of the CRDs; nil: no others are known.
	Kinds meta.RESTMapper
	// AllowGranting lets boxes make kinds that grant rights.
	AllowGranting bool
	// Providers are those that are compiled in; nil: what a manager has is not known.
	Providers *provider.Registry
}

// Compiled is what came of a draft.
type Compiled struct {
	*validation.Validator

	// Docs are the objects, read from their text.
	Docs []input.Document
	// Notes are the compiler's.
	Notes []string
}

// Compile compiles the objects, from their text, and says what of the source each mistake comes from.
func (d *Draft) Compile(ctx context.Context, o Options) (*Compiled, error) {
	text, err := d.Write()
	if err != nil {
		return nil, err
	}
	out := &Compiled{Docs: input.Parse(printed, text)}
	for _, doc := range out.Docs {
		o.CRDs.Add(doc)
	}
	out.Validator, err = validation.New(validation.Options{Docs: out.Docs, CRDs: o.CRDs, Kinds: o.Kinds, AllowGranting: o.AllowGranting, Providers: o.Providers, GiveCRD: o.GiveCRD})
	if err != nil {
		return nil, fmt.Errorf("preparing to compile: %w", err)
	}
	results, err := out.Validate(ctx)
	if err != nil {
		return nil, fmt.Errorf("compiling: %w", err)
	}
	for _, r := range results {
		for _, m := range r.Errors {
			d.mistake(r, m)
		}
		if r.SchemaNote != "" {
			out.Notes = append(out.Notes, r.Subject+": "+r.SchemaNote)
		}
	}
	return out, nil
}

// mistake adds a mistake that the compiler has found: in a CRD that is given, or in what was made.
func (d *Draft) mistake(r validation.Result, m input.Mistake) {
	if r.File != printed {
		d.Remarks = append(d.Remarks, Remark{File: r.File, Line: m.Line, Subject: r.Subject, Path: m.Path, Message: m.Message, Wrong: true})
		return
	}
	d.of(r.Subject, m)
}

// of adds a mistake of an object that was made.
func (d *Draft) of(subject string, m input.Mistake) {
	at := slices.IndexFunc(d.Objects, func(o *Object) bool { return fmt.Sprintf("%s %q", o.Kind(), o.Name()) == subject })
	if at < 0 {
		d.Remarks = append(d.Remarks, Remark{File: printed, Line: m.Line, Subject: subject, Path: m.Path, Message: m.Message, Wrong: true})
		return
	}
	o := d.Objects[at]
	where := ""
	if m.Path != "" {
		where = m.Path + ": "
	}
	o.Fail(m.Path, o.Origin(m.Path), fmt.Sprintf("the %s that is made of it does not compile: %s%s", o.Kind(), where, m.Message))
}
