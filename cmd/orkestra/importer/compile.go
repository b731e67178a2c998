package importer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/provider"
)

// printed is the name of what is printed, where it is read again.
const printed = "the output"

// compile compiles what is printed, from its text, and says what of the source each mistake comes from.
func (i *imported) compile(ctx context.Context, allowGranting bool, providers *provider.Registry) error {
	text, err := i.Write()
	if err != nil {
		return err
	}
	docs := input.Parse(printed, text)
	for _, doc := range docs {
		i.crds.Add(doc)
	}
	for _, doc := range docs {
		if crd := i.crds.Named(doc.Name()); doc.IsCRD() && crd != nil {
			const definition = "spec.crd.definition" // where boxes hold a CRD
			for _, e := range crds.Admitted(ctx, crd) {
				i.wrong(doc, doc.Mistake("spec"+strings.TrimPrefix(e.Field, definition), e.ErrorBody()))
			}
		}
	}
	v, err := validation.New(validation.Options{Docs: docs, CRDs: i.crds, AllowGranting: allowGranting, Providers: providers, GiveCRD: "give --crd"})
	if err != nil {
		return err
	}
	results, err := v.Validate(ctx)
	if err != nil {
		return err
	}
	for _, r := range results {
		for _, m := range r.Errors {
			i.mistake(r, m)
		}
		if r.SchemaNote != "" {
			i.notes = append(i.notes, r.Subject+": "+r.SchemaNote)
		}
	}
	return nil
}

// mistake adds a mistake that the compiler has found: in a CRD that is given, or in what was made.
func (i *imported) mistake(r validation.Result, m input.Mistake) {
	if r.File != printed {
		i.Remarks = append(i.Remarks, draft.Remark{File: r.File, Line: m.Line, Subject: r.Subject, Path: m.Path, Message: m.Message, Wrong: true})
		return
	}
	i.of(r.Subject, m)
}

func (i *imported) wrong(doc input.Document, m input.Mistake) {
	i.of(fmt.Sprintf("%s %q", doc.Kind(), doc.Name()), m)
}

// of adds a mistake of an object that was made.
func (i *imported) of(subject string, m input.Mistake) {
	at := slices.IndexFunc(i.Objects, func(o *draft.Object) bool { return fmt.Sprintf("%s %q", kindOf(o), nameOf(o)) == subject })
	if at < 0 {
		i.Remarks = append(i.Remarks, draft.Remark{File: printed, Line: m.Line, Subject: subject, Path: m.Path, Message: m.Message, Wrong: true})
		return
	}
	o := i.Objects[at]
	where := ""
	if m.Path != "" {
		where = m.Path + ": "
	}
	o.Fail(m.Path, o.Origin(m.Path), fmt.Sprintf("the %s that is made of it does not compile: %s%s", kindOf(o), where, m.Message))
}
