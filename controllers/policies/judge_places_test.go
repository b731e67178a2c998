package policies

// restoring is the right of those who bring backups back.
const restoring = "restore operatorboxes/marks.orkestra.orkspace.io"

func grantsRequests() map[string]request {
	const (
		plain   = "{metadata: {name: team}}"
		open    = "{metadata: {name: team, annotations: {orkestra.orkspace.io/allow-from: '*'}}}"
		wider   = "{metadata: {name: team, annotations: {orkestra.orkspace.io/allow-from: 'a b'}}}"
		noted   = "{metadata: {name: team, annotations: {a: b}}}"
		updates = "update namespaces team/team"
		refused = "orkestra.orkspace.io/allow-from is set by those who may update Namespace team, and tenant may not"
		never   = "a box never sets, changes or removes orkestra.orkspace.io/allow-from"
	)
	return map[string]request{
		"set":                       {of: "namespaces", before: plain, after: open, may: updates},
		"set by who may patch":      {of: "namespaces", before: plain, after: open, may: "patch namespaces", want: refused},
		"set by who owns another":   {of: "namespaces", before: plain, after: open, may: "update namespaces other/other", want: refused},
		"set by who owns that name": {of: "namespaces", before: plain, after: open, may: "update namespaces other/team", want: refused},
		"set by who owns in it":     {of: "namespaces", before: plain, after: open, may: "update namespaces team/other", want: refused},
		"set, another group":        {of: "namespaces", before: plain, after: open, may: "update namespaces.example.com", want: refused},
		"changed":                   {of: "namespaces", before: open, after: wider, want: refused},
		"taken away":                {of: "namespaces", before: open, after: plain, want: refused},
		"left":                      {of: "namespaces", before: open, after: "{metadata: {name: team, labels: {a: b}, annotations: {orkestra.orkspace.io/allow-from: '*'}}}"},
		"another annotation":        {of: "namespaces", before: plain, after: noted},
		"made":                      {of: "namespaces", after: open, want: refused},
		"made by who may update":    {of: "namespaces", after: open, may: updates},
		"made without":              {of: "namespaces", after: plain},
		"in a status":               {of: "namespaces/status", before: plain, after: open, may: "update namespaces/status", want: refused},
		"in finalize":               {of: "namespaces/finalize", before: plain, after: open, may: "update namespaces/finalize", want: refused},
		"a box":                     {box: "b", of: "namespaces", before: plain, after: open, may: updates, want: never},
		"a box, by no right":        {box: "b", of: "namespaces", before: plain, after: open, want: never},
		"a box, something else":     {box: "b", of: "namespaces", before: plain, after: noted},
		"the manager":               {who: managerUser, of: "namespaces", before: plain, after: open, want: "orkestra.orkspace.io/allow-from is set by those who may update Namespace team, and " + managerUser},
		"deleted":                   {of: "namespaces", before: open},
		"another resource":          {of: "configmaps", before: plain, after: open},
		"another group":             {of: "namespaces.example.com", before: plain, after: open},
	}
}

func leasesRequests() map[string]request {
	const (
		of      = "leases.coordination.k8s.io"
		refused = "who leads is written by the manager alone"
	)
	lease := func(name, namespace, metadata, spec string) string {
		return "{metadata: {name: " + name + ", namespace: " + namespace + metadata + "}, spec: {" + spec + "}}"
	}
	held := lease("orkestra-leader", "orkestra-system", "", "holderIdentity: a")
	taken := lease("orkestra-leader", "orkestra-system", "", "holderIdentity: b")
	drained := lease("orkestra-leader", "orkestra-system", ", annotations: {orkestra.orkspace.io/drain: 'true'}", "holderIdentity: a")
	at := lease("orkestra-leader", "orkestra-system", ", annotations: {orkestra.orkspace.io/web-address: '10.0.0.1:8444'}", "holderIdentity: a")
	elsewhere := lease("orkestra-leader", "orkestra-system", ", annotations: {orkestra.orkspace.io/web-address: '10.0.0.9:8444'}", "holderIdentity: a")
	forged := lease("orkestra-leader", "orkestra-system", ", annotations: {orkestra.orkspace.io/web-certificate: ab}", "holderIdentity: a")
	return map[string]request{
		"page put elsewhere":            {of: of, before: at, after: elsewhere, want: refused},
		"page put somewhere":            {of: of, before: held, after: at, want: refused},
		"page taken off":                {of: of, before: at, after: held, want: refused},
		"certificate forged":            {of: of, before: held, after: forged, want: refused},
		"made with a page":              {of: of, after: lease("orkestra-leader", "orkestra-system", ", annotations: {orkestra.orkspace.io/web-address: a}", ""), want: refused},
		"page put by the manager":       {who: managerUser, of: of, before: held, after: at},
		"asked for a drain with a page": {of: of, before: at, after: lease("orkestra-leader", "orkestra-system", ", annotations: {orkestra.orkspace.io/web-address: '10.0.0.1:8444', orkestra.orkspace.io/drain: 'true'}", "holderIdentity: a")},
		"taken":                         {of: of, before: held, after: taken, want: refused},
		"made":                          {of: of, after: held, want: refused},
		"made to ask for a drain":       {of: of, after: lease("orkestra-leader", "orkestra-system", "", "")},
		"without a spec":                {of: of, after: "{metadata: {name: orkestra-leader, namespace: orkestra-system}}"},
		"asked for a drain":             {of: of, before: held, after: drained},
		"shortened":                     {of: of, before: held, after: lease("orkestra-leader", "orkestra-system", "", "holderIdentity: a, leaseDurationSeconds: 1"), want: refused},
		"deleted":                       {of: of, before: held, want: refused},
		"deleted without a holder":      {of: of, before: "{metadata: {name: orkestra-leader, namespace: orkestra-system}}", want: refused},
		"another lease":                 {of: of, before: lease("other", "orkestra-system", "", "holderIdentity: a"), after: lease("other", "orkestra-system", "", "holderIdentity: b")},
		"another lease, deleted":        {of: of, before: lease("other", "orkestra-system", "", "holderIdentity: a")},
		"of another namespace":          {of: of, before: lease("orkestra-leader", "team", "", "holderIdentity: a"), after: lease("orkestra-leader", "team", "", "holderIdentity: b")},
		"the manager outside":           {who: outsideUser, of: of, before: held, after: taken},
		"the manager":                   {who: managerUser, of: of, before: held, after: taken},
		"the manager makes it":          {who: managerUser, of: of, after: held},
		"a box that uses the manager":   {who: managerUser, box: "b", of: of, before: held, after: taken, want: refused},
		"restored":                      {of: of, after: held, may: restoring},
		"restored by who may in part":   {of: of, after: held, may: "restore operatorboxes.orkestra.orkspace.io", want: refused},
		"restored in another group":     {of: of, after: held, may: "restore operatorboxes/marks", want: refused},
		"restored by a program":         {who: "velero", of: of, after: held, may: restoring},
		"a box that may restore":        {box: "b", of: of, after: held, may: restoring, want: refused},
		"deleted by the collector":      {who: collectorUser, of: of, before: held},
		"deleted with the namespace":    {who: namespaceUser, of: of, before: held},
		"deleted by all controllers":    {who: allInOneUser, of: of, before: held},
		"taken by the collector":        {who: collectorUser, of: of, before: held, after: taken, want: refused},
		"another resource":              {of: "configmaps", before: held, after: taken},
		"the same name, another group":  {of: "leases.example.com", before: held, after: taken},
		"another resource of the group": {of: "leasecandidates.coordination.k8s.io", before: held, after: taken},
	}
}

func revisionsRequests() map[string]request {
	const (
		of      = "controllerrevisions.apps"
		refused = "revisions of boxes and snapshots of resources are written by the manager alone"
	)
	revision := func(labels, data string) string {
		return "{metadata: {name: r, namespace: team, labels: {" + labels + "}}, data: {a: " + data + "}, revision: 1}"
	}
	const ofBox, snapshot = "orkestra.orkspace.io/revision-of: b", "orkestra.orkspace.io/snapshot: 'true'"
	owned := "{metadata: {name: r, namespace: team, ownerReferences: [{name: a}], labels: {" + ofBox + "}}, data: {a: x}, revision: 1}"
	return map[string]request{
		"of a box, made":              {of: of, after: revision(ofBox, "x"), want: refused},
		"of a box, changed":           {of: of, before: revision(ofBox, "x"), after: revision(ofBox, "y"), want: refused},
		"of a box, taken over":        {of: of, before: revision("", "x"), after: revision(ofBox, "x"), want: refused},
		"of a box, unmarked":          {of: of, before: revision(ofBox, "x"), after: revision("", "x"), want: refused},
		"of a box, deleted":           {of: of, before: revision(ofBox, "x"), want: refused},
		"a snapshot, made":            {of: of, after: revision(snapshot, "x"), want: refused},
		"a snapshot, deleted":         {of: of, before: revision(snapshot, "x"), want: refused},
		"of a workload, made":         {of: of, after: revision("", "x")},
		"of a workload, changed":      {of: of, before: revision("", "x"), after: revision("", "y")},
		"of a workload, deleted":      {of: of, before: revision("", "x")},
		"without labels":              {of: of, after: "{metadata: {name: r}, data: {}}"},
		"the manager outside":         {who: outsideUser, of: of, after: revision(ofBox, "x")},
		"the manager":                 {who: managerUser, of: of, after: revision(ofBox, "x")},
		"the manager deletes":         {who: managerUser, of: of, before: revision(ofBox, "x")},
		"a box that uses the manager": {who: managerUser, box: "b", of: of, after: revision(ofBox, "x"), want: refused},
		"restored":                    {of: of, after: revision(snapshot, "x"), may: restoring},
		"restored by who may in part": {of: of, after: revision(snapshot, "x"), may: "restore operatorboxes.orkestra.orkspace.io", want: refused},
		"restored in another group":   {of: of, after: revision(snapshot, "x"), may: "restore operatorboxes/marks", want: refused},
		"restored by a program":       {who: "velero", of: of, after: revision(snapshot, "x"), may: restoring},
		"a box that may restore":      {box: "b", of: of, after: revision(snapshot, "x"), may: restoring, want: refused},
		"the collector deletes":       {who: collectorUser, of: of, before: revision(ofBox, "x")},
		"deleted with the namespace":  {who: namespaceUser, of: of, before: revision(ofBox, "x")},
		"deleted by all controllers":  {who: allInOneUser, of: of, before: revision(ofBox, "x")},
		"the collector lets go":       {who: collectorUser, of: of, before: owned, after: revision(ofBox, "x")},
		"the collector changes":       {who: collectorUser, of: of, before: owned, after: revision(ofBox, "y"), want: refused},
		"the collector unmarks":       {who: collectorUser, of: of, before: owned, after: revision("", "x"), want: refused},
		"the collector makes":         {who: collectorUser, of: of, after: revision(ofBox, "x"), want: refused},
		"another resource":            {of: "deployments.apps", after: revision(ofBox, "x")},
		"another group":               {of: "controllerrevisions.example.com", after: revision(ofBox, "x")},
	}
}

func templatesRequests() map[string]request {
	const (
		refused = "a template holds labels or annotations of Orkestra"
		label   = "metadata: {labels: {orkestra.orkspace.io/owner-uid: x}}"
		owner   = "metadata: {labels: {orkestra-owner: x}}"
		note    = "metadata: {annotations: {orkestra.orkspace.io/applied: x}}"
		clean   = "metadata: {labels: {app: a}, annotations: {a: b}}"
		paused  = "metadata: {annotations: {orkestra.orkspace.io/paused: 'true', orkestra.orkspace.io/reconcile-at: x, orkestra.orkspace.io/skip-cleanup: 'true'}}"
		frozen  = "metadata: {labels: {orkestra.orkspace.io/paused: 'true', orkestra.orkspace.io/reconcile-at: x, orkestra.orkspace.io/skip-cleanup: x}}"
	)
	of := func(spec string) string { return "{metadata: {name: a, namespace: team}, spec: {" + spec + "}}" }
	template := func(metadata string) string { return of("template: {" + metadata + ", spec: {}}") }
	pod := func(metadata string) string {
		return "volumes: [{name: plain}, {name: other, ephemeral: {}}, {name: v, ephemeral: {volumeClaimTemplate: {" + metadata + "}}}]"
	}
	cron := func(job, pods string) string {
		return of("jobTemplate: {" + job + ", spec: {template: {" + pods + "}}}")
	}
	out := map[string]request{
		"a claim of a workload":         {of: "statefulsets.apps", after: of("volumeClaimTemplates: [{" + label + "}], template: {}"), want: refused},
		"a clean claim":                 {of: "statefulsets.apps", after: of("volumeClaimTemplates: [{" + clean + "}], template: {}")},
		"a CronJob":                     {of: "cronjobs.batch", after: cron(label, clean), want: refused},
		"the Pods of a CronJob":         {of: "cronjobs.batch", after: cron(clean, label), want: refused},
		"a clean CronJob":               {of: "cronjobs.batch", after: cron(clean, clean)},
		"a PodTemplate":                 {of: "podtemplates", after: "{metadata: {name: a}, template: {" + label + "}}", want: refused},
		"a clean PodTemplate":           {of: "podtemplates", after: "{metadata: {name: a}, template: {" + clean + "}}"},
		"a PodTemplate that changes":    {of: "podtemplates", before: "{metadata: {name: a}, template: {" + clean + "}}", after: "{metadata: {name: a}, template: {" + label + "}}", want: refused},
		"a claim template":              {of: "resourceclaimtemplates.resource.k8s.io", after: of(label), want: refused},
		"a clean claim template":        {of: "resourceclaimtemplates.resource.k8s.io", after: of(clean)},
		"a claim template that changes": {of: "resourceclaimtemplates.resource.k8s.io", before: of(clean), after: of(label), want: refused},
		"restored by a program":         {who: "velero", of: "deployments.apps", after: template(label), may: restoring},
		"a Pod, for its volumes":        {of: "pods", after: of(pod(label)), want: refused},
		"a Pod with clean volumes":      {of: "pods", after: of(pod(clean))},
		"a Pod without volumes":         {of: "pods", after: of("")},
		"the volumes of a workload":     {of: "deployments.apps", after: of("template: {" + clean + ", spec: {" + pod(label) + "}}"), want: refused},
		"the volumes of a CronJob":      {of: "cronjobs.batch", after: of("jobTemplate: {spec: {template: {spec: {" + pod(label) + "}}}}"), want: refused},
		"a Pod that is marked itself":   {of: "pods", after: "{metadata: {name: a, labels: {orkestra.orkspace.io/owner-uid: x}}, spec: {}}"},
		"an owner":                      {of: "deployments.apps", after: template(owner), want: refused},
		"a note":                        {of: "deployments.apps", after: template(note), want: refused},
		"what people set":               {of: "deployments.apps", after: template(paused)},
		"what people set, as labels":    {of: "deployments.apps", after: template(frozen)},
		"a workload that is marked":     {of: "deployments.apps", after: "{metadata: {name: a, labels: {orkestra.orkspace.io/owner-uid: x}}, spec: {template: {" + clean + "}}}"},
		"a change of the template":      {of: "deployments.apps", before: template(clean), after: template(label), want: refused},
		"a change of something else":    {of: "deployments.apps", before: template(label), after: "{metadata: {name: a, namespace: team, labels: {a: b}}, spec: {template: {" + label + ", spec: {}}}}"},
		"an old one that is scaled":     {of: "deployments.apps", before: template(label), after: of("replicas: 2, template: {" + label + ", spec: {}}"), want: refused},
		"a template without metadata":   {of: "deployments.apps", after: of("template: {}")},
		"nothing":                       {of: "deployments.apps", after: "{metadata: {name: a}}"},
		"restored":                      {of: "deployments.apps", after: template(label), may: restoring},
		"restored by who may in part":   {of: "deployments.apps", after: template(label), may: "restore operatorboxes.orkestra.orkspace.io", want: refused},
		"restored in another group":     {of: "deployments.apps", after: template(label), may: "restore operatorboxes/marks", want: refused},
		"a box":                         {box: "b", of: "deployments.apps", after: template(label), want: refused},
		"a box that may restore":        {box: "b", of: "deployments.apps", after: template(label), may: restoring, want: refused},
		"the manager is not excepted":   {who: managerUser, of: "deployments.apps", after: template(label), want: refused},
		"deleted":                       {of: "deployments.apps", before: template(label)},
		"a kind that nobody copies":     {of: "configmaps", after: template(label)},
		"a kind of the apps":            {of: "controllerrevisions.apps", after: template(label)},
		"a name in another group":       {of: "deployments.example.com", after: template(label)},
		"a name in the group of batch":  {of: "deployments.batch", after: template(label)},
	}
	for _, resource := range []string{
		"replicationcontrollers", "daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps", "jobs.batch",
	} {
		out["a template of "+resource] = request{of: resource, after: template(label), want: refused}
		out["a clean template of "+resource] = request{of: resource, after: template(clean)}
		out["a change of "+resource] = request{of: resource, before: template(clean), after: template(label), want: refused}
	}
	return out
}
