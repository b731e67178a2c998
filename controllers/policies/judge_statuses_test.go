package policies

func statusesRequests() map[string]request {
	const (
		boxes    = "operatorboxes/status.orkestra.orkspace.io"
		healths  = "crdhealths.orkestra.orkspace.io"
		statuses = "crdhealths/status.orkestra.orkspace.io"

		ofBox    = "spec: {operatorBoxRef: {name: a}}"
		ofOther  = "spec: {operatorBoxRef: {name: b}}"
		ofPeople = "spec: {crd: {name: shops.example.com}}"
		owner    = "ownerReferences: [{kind: OperatorBox, name: a}]"

		noBox    = "the status of OperatorBox a is written by the manager alone: leave it as it is; to change what it says, change the box or its resources"
		noHealth = "the status of CRDHealth a is written by the manager alone"
		noOwn    = "CRDHealth a belongs to a box, and is written by the manager alone: leave it as it is"
	)
	of := func(metadata, rest string) string {
		if metadata != "" {
			metadata = ", " + metadata
		}
		return "{metadata: {name: a" + metadata + "}, " + rest + "}"
	}
	plain, shown := of("", ofBox+", status: {phase: x}"), of("", ofBox+", status: {phase: y}")
	health, held := of("", ofBox), of(owner, ofBox)
	return map[string]request{
		"the status of a box":                     {of: boxes, before: plain, after: shown, want: noBox},
		"the status of a box, first":              {of: boxes, before: health, after: shown, want: noBox},
		"the status of a box, left":               {of: boxes, before: plain, after: of("labels: {a: b}", ofBox+", status: {phase: x}")},
		"a box itself":                            {of: "operatorboxes.orkestra.orkspace.io", before: plain, after: shown},
		"a scale":                                 {of: "operatorboxes/scale.orkestra.orkspace.io", before: plain, after: shown},
		"the status of a health":                  {of: statuses, before: plain, after: shown, want: noHealth},
		"the status of a health of people":        {of: statuses, before: of("", ofPeople), after: of("", ofPeople+", status: {phase: y}"), want: noHealth},
		"of another group":                        {of: "crdhealths.example.com", after: health},
		"a health, made":                          {of: healths, after: health, want: noOwn},
		"a health of people, made":                {of: healths, after: of("", ofPeople)},
		"a health, changed":                       {of: healths, before: health, after: of("", ofOther), want: noOwn},
		"a health, taken over":                    {of: healths, before: of("", ofPeople), after: health, want: noOwn},
		"a health, taken away":                    {of: healths, before: health, after: of("", ofPeople), want: noOwn},
		"a health of people, changed":             {of: healths, before: of("", ofPeople), after: of("", "spec: {crd: {name: others.example.com}}")},
		"a health of people, held":                {of: healths, before: of("", ofPeople), after: of("finalizers: [a/b]", ofPeople)},
		"a health, labeled":                       {of: healths, before: health, after: of("labels: {a: b}", ofBox)},
		"a health, held":                          {of: healths, before: health, after: of("finalizers: [a/b]", ofBox), want: noOwn},
		"a health, owned":                         {of: healths, before: health, after: held, want: noOwn},
		"a health, deleted":                       {of: healths, before: held, want: noOwn},
		"a health without an owner, deleted":      {of: healths, before: health},
		"a health of another owner, deleted":      {of: healths, before: of("ownerReferences: [{kind: Other, name: a}]", ofBox)},
		"a health of another box, deleted":        {of: healths, before: of(owner, ofOther)},
		"a health of people, deleted":             {of: healths, before: of(owner, ofPeople)},
		"the manager, a status":                   {who: managerUser, of: boxes, before: plain, after: shown},
		"the manager, a health":                   {who: managerUser, of: healths, after: health},
		"the manager outside, a status":           {who: outsideUser, of: boxes, before: plain, after: shown},
		"a box that uses the manager":             {who: managerUser, box: "b", of: boxes, before: plain, after: shown, want: noBox},
		"restored":                                {of: healths, after: health, may: restoring},
		"restored by a program":                   {who: "velero", of: healths, after: health, may: restoring},
		"restored by who may in part":             {of: healths, after: health, may: "restore operatorboxes.orkestra.orkspace.io", want: noOwn},
		"restored in another group":               {of: healths, after: health, may: "restore operatorboxes/marks", want: noOwn},
		"a box that may restore":                  {box: "b", of: healths, after: health, may: restoring, want: noOwn},
		"the collector deletes":                   {who: collectorUser, of: healths, before: held},
		"all controllers delete":                  {who: allInOneUser, of: healths, before: held},
		"the collector lets go":                   {who: collectorUser, of: healths, before: of("finalizers: [a/b]", ofBox), after: health},
		"the collector changes":                   {who: collectorUser, of: healths, before: health, after: of("", ofOther), want: noOwn},
		"the collector makes":                     {who: collectorUser, of: healths, after: health, want: noOwn},
		"the collector, a status":                 {who: collectorUser, of: statuses, before: plain, after: shown, want: noHealth},
		"the collector, a status that goes":       {who: collectorUser, of: statuses, before: plain, want: noHealth},
		"somebody, a status that goes":            {of: boxes, before: plain, want: noBox},
		"a status that comes":                     {of: boxes, after: shown, want: noBox},
		"the collector, a status that comes":      {who: collectorUser, of: statuses, after: shown, want: noHealth},
		"a health with a generated name, made":    {of: healths, after: "{metadata: {generateName: a}, " + ofBox + "}", want: "CRDHealth  belongs to a box"},
		"an object of another kind, made":         {of: "operatorboxes.example.com", after: health},
		"a health without a spec, made":           {of: healths, after: "{metadata: {name: a}}"},
		"a health without a spec, deleted":        {of: healths, before: "{metadata: {name: a}}"},
		"a health of a box without a name, gone":  {of: healths, before: of(owner, "spec: {operatorBoxRef: {}}")},
		"a health that others own as well, gone":  {of: healths, before: of("ownerReferences: [{kind: Other, name: a}, {kind: OperatorBox, name: a}]", ofBox), want: noOwn},
		"a health of the wrong shape, made alone": {of: healths, after: of("", "spec: {operatorBoxRef: {}}"), want: noOwn},
	}
}
