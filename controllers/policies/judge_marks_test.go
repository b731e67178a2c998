package policies

// copiers are the users of controllers that copy labels and annotations to objects of their own.
func copiers() []string {
	out := []string{allInOneUser}
	for _, controller := range []string{
		"endpoint-controller", "endpointslice-controller", "endpointslicemirroring-controller", "deployment-controller", "replicaset-controller",
		"replication-controller", "statefulset-controller", "daemon-set-controller", "job-controller", "cronjob-controller",
		"ephemeral-volume-controller", "resource-claim-controller",
	} {
		out = append(out, "system:serviceaccount:kube-system:"+controller)
	}
	return out
}

// people are the labels and annotations that people set.
func people() []string {
	return []string{
		"aggregate-to-manager", "policy", "paused", "reconcile-at", "allow-from", "cleanup", "confirm-account", "drain", "skip-cleanup",
	}
}

// fieldManagers are the names under which Orkestra owns fields.
func fieldManagers() []string {
	return []string{"orkestra", "orkestra-initial", "orkestra-repair", "orkestra-marks", "orkestra-status"}
}

func marksRequests() map[string]request {
	const (
		of       = "configmaps"
		plain    = "{metadata: {name: a, namespace: team}}"
		labeled  = "{metadata: {name: a, namespace: team, labels: {orkestra.orkspace.io/box: b, a: b}}}"
		another  = "{metadata: {name: a, namespace: team, labels: {orkestra.orkspace.io/box: c, a: b}}}"
		owned    = "{metadata: {name: a, namespace: team, labels: {orkestra-owner: b}}}"
		noted    = "{metadata: {name: a, namespace: team, annotations: {orkestra.orkspace.io/applied: x, a: b}}}"
		renoted  = "{metadata: {name: a, namespace: team, annotations: {orkestra.orkspace.io/applied: y, a: b}}}"
		data     = "{metadata: {name: a, namespace: team, labels: {orkestra.orkspace.io/box: b, a: b}}, data: {a: b}}"
		dataNote = "{metadata: {name: a, namespace: team, annotations: {orkestra.orkspace.io/applied: x, a: b}}, data: {a: b}}"

		noLabel   = "the label orkestra.orkspace.io/box is set, changed and removed by boxes alone: leave it as it is"
		noOwner   = "the label orkestra-owner is set, changed and removed by boxes alone: leave it as it is"
		noNote    = "the annotation orkestra.orkspace.io/applied is set, changed and removed by boxes alone: leave it as it is"
		noManager = "the field managers orkestra, orkestra-initial, orkestra-repair, orkestra-marks and orkestra-status are Orkestra's"
		noTheft   = "box mine writes an object in the name of another box"
		own       = "{metadata: {name: a, namespace: team, labels: {orkestra.orkspace.io/box: mine}}}"
	)
	fields := func(managers string) string {
		return "{metadata: {name: a, namespace: team, managedFields: [{manager: kubectl}, {operation: Apply}" + managers + "]}}"
	}
	out := map[string]request{
		"nothing":                     {of: of, after: plain},
		"labels of others":            {of: of, after: "{metadata: {name: a, labels: {app: a}, annotations: {a: b}}}"},
		"a label, made":               {of: of, after: labeled, want: noLabel},
		"a label, set":                {of: of, before: plain, after: labeled, want: noLabel},
		"a label, changed":            {of: of, before: labeled, after: another, want: noLabel},
		"a label, taken away":         {of: of, before: labeled, after: plain, want: noLabel},
		"a label, left":               {of: of, before: labeled, after: data},
		"an owner, made":              {of: of, after: owned, want: noOwner},
		"an owner, taken away":        {of: of, before: owned, after: plain, want: noOwner},
		"a note, made":                {of: of, after: noted, want: noNote},
		"a note, set":                 {of: of, before: plain, after: noted, want: noNote},
		"a note, changed":             {of: of, before: noted, after: renoted, want: noNote},
		"a note, taken away":          {of: of, before: noted, after: plain, want: noNote},
		"a note, left":                {of: of, before: noted, after: dataNote},
		"an owner as a note":          {of: of, after: "{metadata: {name: a, annotations: {orkestra-owner: b}}}"},
		"a name that begins alike":    {of: of, after: "{metadata: {name: a, labels: {orkestra-fan: b, orkestra.example.com/a: b}, annotations: {orkestra-fan: b, orkestra.example.com/a: b}}}"},
		"deleted":                     {of: of, before: labeled},
		"a kind of anybody":           {of: "shops.example.com", after: labeled, want: noLabel},
		"a subresource":               {of: "services/status", before: plain, after: noted, want: noNote},
		"a binding":                   {of: "pods/binding", after: noted, want: noNote},
		"a scale":                     {of: "deployments/scale.apps", before: plain, after: plain},
		"an object without metadata":  {of: "pods/eviction", after: "{kind: a}", manager: "orkestra"},
		"an event":                    {of: "events", after: labeled},
		"an event that changes":       {of: "events", before: labeled, after: another},
		"a new event":                 {of: "events.events.k8s.io", after: labeled},
		"a new event that changes":    {of: "events.events.k8s.io", before: labeled, after: another},
		"a review of a token":         {of: "tokenreviews.authentication.k8s.io", after: labeled},
		"a review that changes":       {of: "tokenreviews.authentication.k8s.io", before: labeled, after: another},
		"a review of a right":         {of: "subjectaccessreviews.authorization.k8s.io", after: labeled},
		"events of somebody":          {of: "events.example.com", after: labeled, want: noLabel},
		"a name like another manager": {of: of, after: plain, manager: "orkestra-fan"},
		"own, and who is no box":      {of: of, after: own, want: noLabel},

		"labels of others, taken away":       {of: of, before: "{metadata: {name: a, labels: {app: a}}}", after: plain},
		"notes of others, taken away":        {of: of, before: "{metadata: {name: a, annotations: {app: a}}}", after: plain},
		"people set one beside a label":      {of: of, before: labeled, after: "{metadata: {name: a, namespace: team, labels: {orkestra.orkspace.io/box: b, a: b}, annotations: {orkestra.orkspace.io/paused: x}}}"},
		"people set one beside a note":       {of: of, before: noted, after: "{metadata: {name: a, namespace: team, annotations: {orkestra.orkspace.io/applied: x, a: b, orkestra.orkspace.io/paused: x}}}"},
		"people set one beside fields":       {of: of, before: fields(", {manager: orkestra}"), after: "{metadata: {name: a, namespace: team, managedFields: [{manager: orkestra}], annotations: {orkestra.orkspace.io/paused: x}}}"},
		"copied by one that the values name": {who: "copier", of: of, after: labeled},
		"the manager outside":                {who: outsideUser, of: of, after: labeled},
		"the manager":                        {who: managerUser, of: of, after: labeled, manager: "orkestra"},
		"the manager, a note":                {who: managerUser, of: of, before: plain, after: noted},
		"a box":                              {box: "mine", of: of, after: own, manager: "orkestra"},
		"a box, a note":                      {box: "mine", of: of, before: own, after: "{metadata: {name: a, labels: {orkestra.orkspace.io/box: mine}, annotations: {orkestra.orkspace.io/applied: x}}}"},
		"a box without its name":             {box: "mine", of: of, after: noted},
		"a box, as another":                  {box: "mine", of: of, after: labeled, want: noTheft},
		"a box, turned to another":           {box: "mine", of: of, before: own, after: labeled, want: noTheft},
		"a box, of another that stays":       {box: "mine", of: of, before: labeled, after: "{metadata: {name: a, labels: {orkestra.orkspace.io/box: b}, annotations: {orkestra.orkspace.io/applied: x}}}"},
		"a box, of another, made":            {box: "mine", of: of, after: another, want: noTheft},
		"a box, takes a child over":          {box: "mine", of: of, before: labeled, after: own},
		"a box that uses the manager":        {who: managerUser, box: "mine", of: of, after: labeled, want: noTheft},
		"restored":                           {of: of, after: labeled, may: restoring, manager: "orkestra"},
		"restored by who may in part":        {of: of, after: labeled, may: "restore operatorboxes.orkestra.orkspace.io", want: noLabel},
		"restored in another group":          {of: of, after: labeled, may: "restore operatorboxes/marks", want: noLabel},
		"a box that may restore":             {box: "mine", of: of, after: labeled, may: restoring, want: noTheft},
		"the collector, owner references":    {who: collectorUser, of: of, before: labeled, after: "{metadata: {name: a, labels: {orkestra.orkspace.io/box: b, a: b}, ownerReferences: [{name: a}]}}"},
		"the collector, a label":             {who: collectorUser, of: of, before: labeled, after: plain, want: noLabel},
		"fields of others":                   {of: of, before: plain, after: fields("")},
		"fields that begin alike":            {of: of, before: plain, after: fields(", {manager: orkestra-fan}")},
		"fields that stay":                   {of: of, before: fields(", {manager: orkestra}"), after: fields(", {manager: orkestra}, {manager: me}")},
		"fields that go":                     {of: of, before: fields(", {manager: orkestra}"), after: fields("")},
		"fields by a box":                    {box: "mine", of: of, before: plain, after: fields(", {manager: orkestra}")},
		"fields by the manager":              {who: managerUser, of: of, before: plain, after: fields(", {manager: orkestra}")},
	}
	for _, controller := range copiers() {
		out["copied by "+controller] = request{who: controller, of: of, after: labeled}
		out["noted by "+controller] = request{who: controller, of: of, before: plain, after: noted}
	}
	for _, name := range people() {
		out["people set the annotation "+name] = request{of: of, before: plain, after: "{metadata: {name: a, annotations: {orkestra.orkspace.io/" + name + ": 'true'}}}"}
		out["people set the label "+name] = request{of: of, before: plain, after: "{metadata: {name: a, labels: {orkestra.orkspace.io/" + name + ": 'true'}}}"}
	}
	for _, manager := range fieldManagers() {
		out["made as "+manager] = request{of: of, after: plain, manager: manager, want: noManager}
		out["changed as "+manager] = request{of: of, before: plain, after: plain, manager: manager, want: noManager}
		out["made with fields of "+manager] = request{of: of, after: fields(", {manager: " + manager + "}"), want: noManager}
		out["changed with fields of "+manager] = request{of: of, before: fields(""), after: fields(", {manager: " + manager + "}"), want: noManager}
	}
	return out
}
