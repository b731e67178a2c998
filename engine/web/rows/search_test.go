package rows

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/web/api"
)

func rowOf(namespace, name, reason, message string) api.Row {
	return api.Row{Reference: api.Reference{Namespace: namespace, Name: name}, Reason: reason, Message: message}
}

func names(found *api.Found) (out []string) {
	for _, row := range found.Rows {
		out = append(out, row.Box+" "+row.Namespace+"/"+row.Name)
	}
	return out
}

// TestTheBestMatchComesFirst: the name itself, its beginning, a part of it, and what the resource says.
func TestTheBestMatchComesFirst(t *testing.T) {
	g := NewWithT(t)
	web, mail := New(), New()
	for _, row := range []api.Row{
		rowOf("a", "workshop", "", ""), rowOf("shop", "other", "", ""), rowOf("b", "Shop", "", ""), rowOf("a", "shop-1", "", ""),
		rowOf("a", "said", "Denied", "the SHOP is closed"), rowOf("a", "reason", "ShopClosed", ""), rowOf("a", "nothing", "Ready", "well"),
	} {
		web.Set(row)
	}
	mail.Set(rowOf("a", "shop", "", ""))
	mail.Set(rowOf("hidden", "shop", "", ""))
	may := func(namespace string) bool { return namespace != "hidden" }
	all := func() []Match { return append(web.Find("web", "shop", nil), mail.Find("mail", "shop", may)...) }
	found := Merge(all(), Search{Limit: 100})
	g.Expect(names(found)).To(Equal([]string{
		"mail a/shop", "web b/Shop", "web a/shop-1", "web a/workshop", "web shop/other", "web a/reason", "web a/said",
	}))
	g.Expect(found.Matching).To(Equal(7))
	page := Merge(all(), Search{Offset: 2, Limit: 2})
	g.Expect(names(page)).To(Equal([]string{"web a/shop-1", "web a/workshop"}))
	g.Expect(page.Matching).To(Equal(7))
	g.Expect(Merge(all(), Search{Offset: 100, Limit: 2}).Rows).To(BeEmpty())
	g.Expect(names(Merge(web.Find("web", "shop/oth", nil), Search{Limit: 5}))).To(Equal([]string{"web shop/other"}))
}

func TestWhatHasGoneIsNotShown(t *testing.T) {
	gone := Match{Row: func() (api.Row, bool) { return api.Row{}, false }}
	NewWithT(t).Expect(Merge([]Match{gone}, Search{Limit: 5}).Rows).To(BeEmpty())
}

func BenchmarkSearch(b *testing.B) {
	table := New()
	for n := range 50_000 {
		table.Set(rowOf(fmt.Sprintf("team-%02d", n%40), fmt.Sprintf("site-%05d", n), "Denied", "admission webhook denied the request: image has no digest"))
	}
	for b.Loop() {
		Merge(table.Find("web", "00049", nil), Search{Limit: 50})
	}
}
