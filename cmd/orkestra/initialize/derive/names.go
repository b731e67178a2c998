package derive

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/engine/kinds"
)

// identify finds the name and the namespace of an instance.
func (t *translation) identify(in *instance, given Instance) {
	in.name, in.namespace = given.Name, namespaceOf(in.objects)
	if in.namespace == "" {
		in.namespace = given.Namespace
	}
	if in.name == "" {
		in.name = nameOf(in.objects)
	}
	for _, o := range in.objects {
		metadata, _ := o.content[fieldMetadata].(map[string]any)
		delete(metadata, "namespace")
		if o.namespace == in.namespace {
			o.namespace = ""
		}
		if o.namespace != "" {
			t.Say(o.doc, subject(o.doc), "metadata.namespace", fmt.Sprintf("the child of every resource is in the namespace %s, while most others are in that of the resource", o.namespace), false)
		}
		if !holds(o.name, in.name) {
			t.Say(o.doc, subject(o.doc), "metadata.name", fmt.Sprintf(
				"the name does not have that of the instance in it, %s: two resources of one namespace would make the same object, and the second one is refused; --name says another name of the instance", in.name), false)
		}
	}
}

// nameOf is what an instance seems to be called.
func nameOf(objects []*object) string {
	labels := map[string]bool{}
	for _, o := range objects {
		metadata, _ := o.content[fieldMetadata].(map[string]any)
		all, _ := metadata[fieldLabels].(map[string]any)
		if name := text(all[labelInstance]); name != "" {
			labels[name] = true
		}
	}
	if len(labels) == 1 {
		if name := slices.Collect(maps.Keys(labels))[0]; len(apivalidation.IsDNS1123Subdomain(name)) == 0 {
			return name
		}
	}
	common := strings.Split(objects[0].name, "-")
	for _, o := range objects[1:] {
		words := strings.Split(o.name, "-")
		n := 0
		for n < min(len(common), len(words)) && common[n] == words[n] {
			n++
		}
		common = common[:n]
	}
	if len(common) > 0 {
		return strings.Join(common, "-")
	}
	for _, o := range objects {
		if slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, o.doc.Kind()) {
			return o.name
		}
	}
	return objects[0].name
}

// namespaceOf is the namespace in which most objects are; empty: they say none.
func namespaceOf(objects []*object) string {
	count := map[string]int{}
	most := ""
	for _, o := range objects {
		if o.namespace == "" {
			continue
		}
		if count[o.namespace]++; count[o.namespace] > count[most] {
			most = o.namespace
		}
	}
	return most
}

// holds says whether a text has a word in it.
func holds(text, word string) bool { return next(text, word, 0) >= 0 }

// next is where a word stands in a text, from a place on; -1: nowhere. Letters and digits beside it are part of another word.
func next(text, word string, from int) int {
	for word != "" && from <= len(text) {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return -1
		}
		at += from
		if isAt(text, word, at) {
			return at
		}
		from = at + 1
	}
	return -1
}

// isAt says whether a word stands in a text at a place.
func isAt(text, word string, at int) bool {
	return strings.HasPrefix(text[at:], word) && !isWordAt(text, at-1) && !isWordAt(text, at+len(word))
}

func isWordAt(text string, at int) bool {
	return at >= 0 && at < len(text) && (text[at] >= 'a' && text[at] <= 'z' || text[at] >= 'A' && text[at] <= 'Z' || text[at] >= '0' && text[at] <= '9' || text[at] >= 0x80)
}

// withoutName is the name of an object without that of the instance.
func withoutName(name, instance string) string {
	if at := next(name, instance, 0); at >= 0 {
		return name[:at] + name[at+len(instance):]
	}
	return name
}

// piece is a part of a text: as it is written, or what stands for something of the resource.
type piece struct{ literal, read string }

// mark is a text of each instance, and how a template reads it.
type mark struct {
	values []string
	read   string
}

// align takes texts of several instances apart at the marks, so that the rest is the same in all of them.
func align(texts []string, marks []mark) ([]piece, bool) {
	at := make([]int, len(texts))
	var out []piece
	literal := 0 // where the literal began, in the first text
	flush := func() {
		if at[0] > literal {
			out = append(out, piece{literal: texts[0][literal:at[0]]})
		}
	}
	for {
		if m := markAt(texts, at, marks); m != nil {
			flush()
			out = append(out, piece{read: m.read})
			for i := range at {
				at[i] += len(m.values[i])
			}
			literal = at[0]
			continue
		}
		if at[0] == len(texts[0]) {
			flush()
			return out, ended(texts, at)
		}
		for i := range texts {
			if at[i] == len(texts[i]) || texts[i][at[i]] != texts[0][at[0]] {
				return nil, false
			}
		}
		for i := range at {
			at[i]++
		}
	}
}

// ended says whether all texts are at their ends.
func ended(texts []string, at []int) bool {
	for i := range texts {
		if at[i] < len(texts[i]) {
			return false
		}
	}
	return true
}

// markAt is the mark that all texts go on with; nil: none.
func markAt(texts []string, at []int, marks []mark) *mark {
	for m := range marks {
		all := true
		for i := range texts {
			all = all && strings.HasPrefix(texts[i][at[i]:], marks[m].values[i])
		}
		if all {
			return &marks[m]
		}
	}
	return nil
}

// differs says whether the texts of a mark tell the instances apart.
func (m mark) differs() bool {
	return !slices.Contains(m.values, "") && slices.ContainsFunc(m.values, func(v string) bool { return v != m.values[0] })
}

// camel makes one word of a text, as fields are called; empty: it has neither letters nor digits.
func camel(text string) string {
	var b strings.Builder
	words := strings.FieldsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		if strings.ToUpper(word) == word {
			word = strings.ToLower(word)
		}
		if i == 0 {
			b.WriteString(lowerFirst(word))
			continue
		}
		b.WriteString(upperFirst(word))
	}
	return b.String()
}

// lowerFirst writes the capital letters at the beginning small, but for one that begins the next word, as in ipFamilies of IPFamilies.
func lowerFirst(word string) string {
	n := 0
	for n < len(word) && word[n] >= 'A' && word[n] <= 'Z' && (n == 0 || n+1 == len(word) || word[n+1] < 'a' || word[n+1] > 'z') {
		n++
	}
	return strings.ToLower(word[:n]) + word[n:]
}

func upperFirst(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// isKindName says whether templates call the children of a kind so.
func isKindName(id string) bool { return kinds.IsName(id) || kinds.IsName(strings.ToLower(id)) }

// free is a name that is not taken, with a number behind it where it is.
func free(name string, taken map[string]bool) string {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "field" + upperFirst(name)
	}
	out := name
	for i := 2; taken[out]; i++ {
		out = name + strconv.Itoa(i)
	}
	taken[out] = true
	return out
}
