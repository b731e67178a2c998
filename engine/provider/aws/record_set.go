package aws

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/orkspace/orkestra/engine/provider"
)

const defaultTTL = 300

type recordSpec struct {
	ZoneID        string   `json:"zoneId"`
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	TTL           *int64   `json:"ttl"`
	Records       []string `json:"records"`
	SetIdentifier string   `json:"setIdentifier"`
	Weight        *int64   `json:"weight"`
	Region        string   `json:"region"`
	Failover      string   `json:"failover"`
	HealthCheckID string   `json:"healthCheckId"`
	Alias         *alias   `json:"alias"`
}

type alias struct {
	Name                 string `json:"name"`
	ZoneID               string `json:"zoneId"`
	EvaluateTargetHealth bool   `json:"evaluateTargetHealth"`
}

// check says what Route 53 would say with less words.
func (s recordSpec) check() error {
	routed := s.Weight != nil || s.Region != "" || s.Failover != ""
	var message string
	switch {
	case (len(s.Records) > 0) == (s.Alias != nil):
		message = "declare either records, with at least one value, or alias"
	case s.Alias != nil && s.TTL != nil:
		message = "ttl: an alias has the one of its target: leave it out"
	case routed && s.SetIdentifier == "":
		message = "setIdentifier: declare one, since weight, region or failover is declared"
	case !routed && s.SetIdentifier != "":
		message = "setIdentifier: declare weight, region or failover with it, or leave it out"
	default:
		return nil
	}
	return &provider.Error{Class: provider.Invalid, Operation: "Declared", Message: message}
}

// set is the record as Route 53 writes it.
func (s recordSpec) set() types.ResourceRecordSet {
	out := types.ResourceRecordSet{
		Name: aws.String(fullName(s.Name)), Type: types.RRType(s.Type), Weight: s.Weight,
		Region: types.ResourceRecordSetRegion(s.Region), Failover: types.ResourceRecordSetFailover(s.Failover),
	}
	if s.SetIdentifier != "" {
		out.SetIdentifier = aws.String(s.SetIdentifier)
	}
	if s.HealthCheckID != "" {
		out.HealthCheckId = aws.String(s.HealthCheckID)
	}
	if s.Alias != nil {
		out.AliasTarget = &types.AliasTarget{DNSName: aws.String(fullName(s.Alias.Name)), HostedZoneId: aws.String(s.Alias.ZoneID), EvaluateTargetHealth: s.Alias.EvaluateTargetHealth}
		return out
	}
	if out.TTL = s.TTL; s.TTL == nil {
		out.TTL = aws.Int64(defaultTTL)
	}
	for _, value := range s.Records {
		if s.Type == "TXT" || s.Type == "SPF" {
			value = quote(value)
		}
		out.ResourceRecords = append(out.ResourceRecords, types.ResourceRecord{Value: aws.String(value)})
	}
	return out
}

// differences names the fields in which a record is not as declared. A record is one value: what is not declared is not in it.
func (s recordSpec) differences(is types.ResourceRecordSet) []string {
	want := s.set()
	var out []string
	add := func(field string, differs bool) {
		if differs {
			out = append(out, field)
		}
	}
	add("alias", !sameAlias(want.AliasTarget, is.AliasTarget))
	add("failover", want.Failover != is.Failover)
	add("healthCheckId", aws.ToString(want.HealthCheckId) != aws.ToString(is.HealthCheckId))
	add("records", !slices.Equal(s.values(want), s.values(is)))
	add(fieldRegion, want.Region != is.Region)
	add("ttl", aws.ToInt64(want.TTL) != aws.ToInt64(is.TTL))
	add("weight", !reflect.DeepEqual(want.Weight, is.Weight))
	return out
}

func sameAlias(a, b *types.AliasTarget) bool {
	if a == nil || b == nil {
		return a == b
	}
	// Consoles put "dualstack." before the names of load balancers, which is another name: it is told apart.
	return fullName(aws.ToString(a.DNSName)) == fullName(aws.ToString(b.DNSName)) && aws.ToString(a.HostedZoneId) == aws.ToString(b.HostedZoneId) &&
		a.EvaluateTargetHealth == b.EvaluateTargetHealth
}

// values are those of a record, in one order and form: the names of hosts are the same with and without the last dot.
func (s recordSpec) values(set types.ResourceRecordSet) []string {
	var out []string
	for _, record := range set.ResourceRecords {
		value := aws.ToString(record.Value)
		switch s.Type {
		case "CNAME", "NS", "PTR", "MX", "SRV":
			value = strings.ToLower(strings.TrimSuffix(value, "."))
		}
		out = append(out, value)
	}
	slices.SortFunc(out, cmp.Compare)
	return out
}
