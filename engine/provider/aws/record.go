package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/orkspace/orkestra/engine/provider"
)

// notedChange is the change that Route 53 has not told all of its servers yet.
const notedChange = "change"

type recordDriver struct{ services *services }

// record is one record, for one call.
type record struct {
	r      *provider.Request
	spec   recordSpec
	client *route53.Client
	// set and mark are what is there; nil: nothing.
	set, mark *types.ResourceRecordSet
}

func (d recordDriver) open(ctx context.Context, r *provider.Request) (*record, error) {
	x := &record{r: r}
	if err := r.Decode(&x.spec); err != nil {
		return nil, err
	}
	x.spec.ZoneID = strings.TrimPrefix(x.spec.ZoneID, "/hostedzone/")
	config, err := d.services.config(ctx, r, globalRegion)
	if err != nil {
		return nil, err
	}
	x.client = route53.NewFromConfig(config)
	return x, nil
}

// find reads the record and its mark.
func (x *record) find(ctx context.Context) (ownership, error) {
	var err error
	if x.mark, err = x.read(ctx, markRecordName(x.spec), types.RRTypeTxt, ""); err != nil {
		return absent, err
	}
	if x.set, err = x.read(ctx, fullName(x.spec.Name), types.RRType(x.spec.Type), x.spec.SetIdentifier); err != nil {
		return absent, err
	}
	switch {
	case x.mark == nil && x.set == nil:
		return absent, nil
	case x.mark == nil:
		return unmarked, nil
	default:
		return whose(marksOf(x.mark), x.r), nil
	}
}

// read gives one record; nil: there is none. Route 53 lists from a name on, so the first of the list is the one, or it is not there.
func (x *record) read(ctx context.Context, name string, kind types.RRType, identifier string) (*types.ResourceRecordSet, error) {
	in := &route53.ListResourceRecordSetsInput{HostedZoneId: aws.String(x.spec.ZoneID), StartRecordName: aws.String(name), StartRecordType: kind, MaxItems: aws.Int32(1)}
	if identifier != "" {
		in.StartRecordIdentifier = aws.String(identifier)
	}
	out, err := x.client.ListResourceRecordSets(ctx, in)
	if err != nil {
		return nil, explain(ctx, x.r, err)
	}
	if len(out.ResourceRecordSets) == 0 {
		return nil, nil
	}
	first := out.ResourceRecordSets[0]
	if fullName(aws.ToString(first.Name)) != name || first.Type != kind || aws.ToString(first.SetIdentifier) != identifier {
		return nil, nil
	}
	return &first, nil
}

func (x *record) what() string {
	return fmt.Sprintf("the record %s of type %s", strings.TrimSuffix(fullName(x.spec.Name), "."), x.spec.Type)
}

func (x *record) refusal(operation string) error {
	return refusal(x.r, operation, x.what(), "delete the TXT record "+markRecordName(x.spec), marksOf(x.mark))
}

// mayTouch says whether the record may be changed. A mark of ours without a record is a remnant, whatever its token is.
func (x *record) mayTouch(is ownership) bool {
	return is == ours || is == twin && x.set == nil || is == unmarked && x.r.Adopt
}

// Ensure makes the record and its mark in one batch, or corrects it.
func (d recordDriver) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	x, err := d.open(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := x.spec.check(); err != nil {
		return nil, err
	}
	is, err := x.find(ctx)
	if err != nil {
		return nil, err
	}
	if is != absent && !x.mayTouch(is) {
		return nil, x.refusal("ChangeResourceRecordSets")
	}
	out := &provider.Observed{Outputs: x.outputs(), Created: x.set == nil}
	if x.set != nil {
		out.Differs = x.spec.differences(*x.set)
	}
	changes := x.changes(len(out.Differs) > 0)
	if len(changes) == 0 {
		return x.settle(ctx, out)
	}
	id, err := x.change(ctx, changes)
	if err != nil {
		return nil, err
	}
	out.Noted, out.Waiting = map[string]string{notedChange: id}, waitingText
	return out, nil
}

const waitingText = "Route 53 has not told all of its servers yet"

// changes are those that make the record as declared. What is replaced is deleted as it was read and made again: if somebody has changed it
// in between, Route 53 refuses the whole batch.
func (x *record) changes(differs bool) []types.Change {
	var out []types.Change
	stale := x.mark != nil && marksOf(x.mark)[markToken] != x.r.Token
	if stale {
		out = append(out, change(types.ChangeActionDelete, *x.mark))
	}
	if x.mark == nil || stale {
		out = append(out, change(types.ChangeActionCreate, markRecord(x.spec, x.r)))
	}
	if x.set != nil && differs {
		out = append(out, change(types.ChangeActionDelete, *x.set))
	}
	if x.set == nil || differs {
		out = append(out, change(types.ChangeActionCreate, x.spec.set()))
	}
	return out
}

func change(action types.ChangeAction, set types.ResourceRecordSet) types.Change {
	return types.Change{Action: action, ResourceRecordSet: &set}
}

func (x *record) change(ctx context.Context, changes []types.Change) (id string, err error) {
	out, err := x.client.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String(x.spec.ZoneID), ChangeBatch: &types.ChangeBatch{Changes: changes}})
	if err != nil {
		return "", x.explainBatch(explain(ctx, x.r, err))
	}
	if out.ChangeInfo == nil {
		return "", nil
	}
	return strings.TrimPrefix(aws.ToString(out.ChangeInfo.Id), "/change/"), nil
}

// explainBatch names the record: Route 53 says of a batch only what is wrong.
func (x *record) explainBatch(err error) error {
	if failed, ok := err.(*provider.Error); ok && failed.Code == "InvalidChangeBatch" { //nolint:errorlint // explain gives it as it is.
		failed.Message = x.r.Line(fmt.Sprintf("%s is refused: %s", x.what(), failed.Message))
	}
	return err
}

// settle asks whether a change that was noted has reached all servers. Route 53 forgets changes after a day.
func (x *record) settle(ctx context.Context, out *provider.Observed) (*provider.Observed, error) {
	id := x.r.Noted[notedChange]
	if id == "" {
		return out, nil
	}
	answer, err := x.client.GetChange(ctx, &route53.GetChangeInput{Id: aws.String(id)})
	if err = explain(ctx, x.r, err); provider.IsClass(err, provider.NotFound) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	if answer.ChangeInfo != nil && answer.ChangeInfo.Status == types.ChangeStatusPending {
		out.Noted, out.Waiting = map[string]string{notedChange: id}, waitingText
	}
	return out, nil
}

// Observe compares.
func (d recordDriver) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	x, err := d.open(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := x.spec.check(); err != nil {
		return nil, err
	}
	is, err := x.find(ctx)
	switch {
	case err != nil:
		return nil, err
	case is != absent && !x.mayTouch(is):
		return nil, x.refusal("ListResourceRecordSets")
	case x.set == nil:
		return nil, &provider.Error{Class: provider.NotFound, Operation: "ListResourceRecordSets", Message: x.what() + " is not there"}
	}
	return &provider.Observed{Outputs: x.outputs(), Differs: x.spec.differences(*x.set), Token: marksOf(x.mark)[markToken]}, nil
}

// Delete deletes the record and its mark as they were read, in one batch.
func (d recordDriver) Delete(ctx context.Context, r *provider.Request) (gone bool, err error) {
	x, err := d.open(ctx, r)
	if err != nil {
		return false, err
	}
	is, err := x.find(ctx)
	if code(err) == "NoSuchHostedZone" {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if is != ours {
		return true, nil
	}
	changes := []types.Change{change(types.ChangeActionDelete, *x.mark)}
	if x.set != nil {
		changes = append(changes, change(types.ChangeActionDelete, *x.set))
	}
	if _, err := x.change(ctx, changes); err != nil {
		return false, err
	}
	return true, nil
}

func (x *record) outputs() map[string]any {
	return map[string]any{"fqdn": strings.TrimSuffix(fullName(x.spec.Name), "."), "type": x.spec.Type}
}
