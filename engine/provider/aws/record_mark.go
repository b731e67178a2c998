package aws

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/orkspace/orkestra/engine/provider"
)

// Records have no tags. The mark of one is a TXT record beside it, which is made, changed and deleted in one batch with it: Route 53 does all
// of a batch or nothing. Its name has a label before that of the record, by type and set identifier, such as _orkestra-a.www.example.com.
const (
	markLabel = "_orkestra-"
	markTTL   = 300
	// maxText is what one text of a TXT record can hold.
	maxText = 255
	// The texts of the mark.
	textFormat, textUID, textToken, textBox, textNamespace, textName = "orkestra=1", "uid=", "token=", "box=", "namespace=", "name="
)

// markRecordName is the name of the mark. A * must stand first, so that it is spelled out.
func markRecordName(spec recordSpec) string {
	label := markLabel + strings.ToLower(spec.Type)
	if spec.SetIdentifier != "" {
		sum := sha256.Sum256([]byte(spec.SetIdentifier))
		label += "-" + hex.EncodeToString(sum[:8])
	}
	name := fullName(spec.Name)
	if rest, wild := strings.CutPrefix(name, "*."); wild {
		name = "_wildcard." + rest
	}
	return label + "." + name
}

// markRecord is the TXT record that says whose a record is.
func markRecord(spec recordSpec, r *provider.Request) types.ResourceRecordSet {
	o := r.Owner
	parts := []string{textFormat, textUID + o.UID, textToken + r.Token, textBox + o.Box}
	if o.Namespace != "" {
		parts = append(parts, textNamespace+o.Namespace)
	}
	parts = append(parts, textName+o.Name)
	for i, part := range parts {
		parts[i] = `"` + part[:min(len(part), maxText)] + `"`
	}
	return types.ResourceRecordSet{
		Name: aws.String(markRecordName(spec)), Type: types.RRTypeTxt, TTL: aws.Int64(markTTL),
		ResourceRecords: []types.ResourceRecord{{Value: aws.String(strings.Join(parts, " "))}},
	}
}

// marksOf reads the mark as if it were tags.
func marksOf(set *types.ResourceRecordSet) map[string]string {
	if set == nil {
		return nil
	}
	out := map[string]string{}
	for _, record := range set.ResourceRecords {
		for _, part := range texts53(aws.ToString(record.Value)) {
			for prefix, key := range map[string]string{textUID: markUID, textToken: markToken, textBox: markBox, textNamespace: markNamespace, textName: markName} {
				if value, found := strings.CutPrefix(part, prefix); found {
					out[key] = value
				}
			}
		}
	}
	return out
}

// texts53 are the quoted texts of the value of a TXT record.
func texts53(value string) []string {
	var out []string
	var b strings.Builder
	inside := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"' && inside:
			out = append(out, b.String())
			b.Reset()
			inside = false
		case c == '"':
			inside = true
		case inside && c == '\\' && i+1 < len(value):
			i++
			b.WriteByte(value[i])
		case inside:
			b.WriteByte(c)
		}
	}
	return out
}

// quote gives a value of a TXT record in quotes, in pieces of at most 255 bytes, unless it is quoted already.
func quote(value string) string {
	if strings.HasPrefix(value, `"`) {
		return value
	}
	var parts []string
	for len(value) > maxText {
		parts, value = append(parts, value[:maxText]), value[maxText:]
	}
	parts = append(parts, value)
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, part := range parts {
		parts[i] = `"` + escape.Replace(part) + `"`
	}
	return strings.Join(parts, " ")
}

// fullName is a name in one form: small letters, the last dot, and a * as it is.
func fullName(name string) string {
	return strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(name, `\052`, "*")), ".") + "."
}
