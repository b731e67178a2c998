package policies

func healthCRDRequests() map[string]request {
	const (
		of        = "crdhealths.orkestra.orkspace.io"
		lists     = "list shops.example.com"
		listsAny  = "list others.example.com"
		notShops  = "the CRDHealth shows resources of shops.example.com, and tenant may not list them in all namespaces: bind a ClusterRole with the verb list, or operate, on that resource"
		notBefore = "until now the CRDHealth shows resources of others.example.com, and tenant may not list them in all namespaces"

		ofShops  = "spec: {crd: {name: shops.example.com}}"
		ofOthers = "spec: {crd: {name: others.example.com}}"
		ofBox    = "spec: {operatorBoxRef: {name: a}, crd: {name: shops.example.com}}"
	)
	health := func(rest string) string { return "{metadata: {name: a}, " + rest + "}" }
	labeled := func(rest string) string { return "{metadata: {name: a, labels: {b: c}}, " + rest + "}" }
	return map[string]request{
		"who lists":                         {of: of, after: health(ofShops), may: lists},
		"who operates":                      {of: of, after: health(ofShops), may: operates},
		"somebody":                          {of: of, after: health(ofShops), want: notShops},
		"who lists in one namespace":        {of: of, after: health(ofShops), may: lists + " team", want: notShops},
		"who operates in one namespace":     {of: of, after: health(ofShops), may: operates + " team", want: notShops},
		"who lists in another group":        {of: of, after: health(ofShops), may: "list shops.other.com", want: notShops},
		"who operates in another group":     {of: of, after: health(ofShops), may: "operate shops.other.com", want: notShops},
		"who lists others":                  {of: of, after: health(ofShops), may: listsAny + ", " + operatesAny, want: notShops},
		"who gets and watches":              {of: of, after: health(ofShops), may: "get shops.example.com, watch shops.example.com", want: notShops},
		"changed":                           {of: of, before: health(ofShops), after: health("spec: {crd: {name: shops.example.com}, healthyWhen: [{field: a}]}"), may: lists},
		"changed by somebody":               {of: of, before: health(ofShops), after: health("spec: {crd: {name: shops.example.com}, healthyWhen: [{field: a}]}"), want: notShops},
		"labeled":                           {of: of, before: health(ofShops), after: labeled(ofShops)},
		"led to somebody's":                 {of: of, before: health(ofOthers), after: health(ofShops), may: listsAny, want: notShops},
		"led from somebody's":               {of: of, before: health(ofOthers), after: health(ofShops), may: lists, want: notBefore},
		"led from it by who operates it":    {of: of, before: health(ofOthers), after: health(ofShops), may: lists + ", " + operatesAny},
		"led from it in one namespace":      {of: of, before: health(ofOthers), after: health(ofShops), may: lists + ", " + operatesAny + " team", want: notBefore},
		"led by who lists both":             {of: of, before: health(ofOthers), after: health(ofShops), may: lists + ", " + listsAny},
		"led from another group":            {of: of, before: health(ofOthers), after: health(ofShops), may: lists + ", list others.other.com, operate others.other.com", want: notBefore},
		"led from it by who lists a part":   {of: of, before: health(ofOthers), after: health(ofShops), may: lists + ", " + listsAny + " team", want: notBefore},
		"deleted":                           {of: of, before: health(ofOthers), may: listsAny},
		"deleted by who operates":           {of: of, before: health(ofOthers), may: operatesAny},
		"deleted by somebody":               {of: of, before: health(ofOthers), want: notBefore},
		"of a box, made":                    {of: of, after: health(ofBox)},
		"of a box, changed":                 {of: of, before: health(ofOthers), after: health(ofBox)},
		"of a box, deleted":                 {of: of, before: health(ofBox)},
		"no longer of a box":                {of: of, before: health(ofBox), after: health(ofShops)},
		"without a spec":                    {of: of, after: "{metadata: {name: a}}"},
		"with a name that names no CRD":     {of: of, after: health("spec: {crd: {name: shops}}")},
		"from a name that names no CRD":     {of: of, before: health("spec: {crd: {name: shops}}"), after: health(ofShops), may: lists},
		"a status":                          {of: "crdhealths/status.orkestra.orkspace.io", before: health(ofShops), after: health(ofShops + ", status: {state: x}")},
		"another resource":                  {of: "operatorboxes.orkestra.orkspace.io", after: health(ofShops)},
		"the same name in another group":    {of: "crdhealths.example.com", after: health(ofShops)},
		"the manager is not excepted":       {who: managerUser, of: of, after: health(ofShops), want: "the CRDHealth shows"},
		"nobody in particular, a new label": {of: of, before: health(ofOthers), after: labeled(ofOthers)},
	}
}
