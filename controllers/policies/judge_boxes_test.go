package policies

import "strings"

// Users, as the API server calls them.
const (
	outsideUser   = "orkestra-outside" // a manager with a certificate, which has no extra
	managerUser   = "system:serviceaccount:orkestra-system:orkestra"
	collectorUser = "system:serviceaccount:kube-system:generic-garbage-collector"
	namespaceUser = "system:serviceaccount:kube-system:namespace-controller"
	allInOneUser  = "system:kube-controller-manager"
)

// Rights that boxes ask for, and what boxes say.
const (
	ownsShop    = "impersonate serviceaccounts team/shop"
	ownsOther   = "impersonate serviceaccounts team/other"
	changesIt   = "update operatorboxes.orkestra.orkspace.io /a"
	isManager   = "use operatorboxes/manager-identity.orkestra.orkspace.io /a"
	operates    = "operate shops.example.com"
	operatesAny = "operate others.example.com"
	enforces1   = "enforce shops.example.com"
	enforces2   = "enforce others.example.com"

	shop     = "serviceAccountRef: {name: shop, namespace: team}"
	other    = "serviceAccountRef: {name: other, namespace: team}"
	shops    = "crd: {name: shops.example.com}"
	others   = "crd: {name: others.example.com}"
	defined  = "crd: {definition: {group: example.com, names: {plural: shops}}}"
	redefine = "crd: {definition: {group: example.com, names: {plural: others}}}"
	judges   = "admission: {validation: true}"
	asked    = "annotations: {orkestra.orkspace.io/last-action: ann}"
	askedToo = "annotations: {orkestra.orkspace.io/last-action: bob}"

	noAccount  = "the box names no account, so that it acts as the manager, and tenant may not use the identity of the manager: name an account in spec.serviceAccountRef, or bind a role with the verb use on operatorboxes/manager-identity of orkestra.orkspace.io"
	notShop    = "the box names ServiceAccount team/shop, and tenant may not impersonate it: bind a role with the verb impersonate on that account"
	notOther   = "the box names ServiceAccount team/other, and tenant may not impersonate it: bind a role with the verb impersonate on that account"
	wasManager = "until now the box names no account, so that it acts as the manager, and tenant may not use the identity of the manager"
	wasOther   = "until now the box names ServiceAccount team/other, and tenant may not impersonate it"
	notJudge   = "spec.admission has the API server refuse resources of shops.example.com, and tenant may not enforce rules on them"
)

// box is a box in YAML, with what its metadata and its spec say.
func box(metadata, spec string) string {
	if metadata != "" {
		metadata = ", " + metadata
	}
	return "{metadata: {name: a" + metadata + "}, spec: {" + spec + "}}"
}

func boxAccountRequests() map[string]request {
	const of = "operatorboxes.orkestra.orkspace.io"
	plain := box("", shop+", "+shops)
	theirs := box("", other+", "+shops)
	requests := map[string]request{
		"a name that is not one's own":   {of: of, after: plain, may: ownsShop, want: "tenant may make boxes, and not one named a: bind a ClusterRole with the verb update"},
		"another name that is one's own": {of: of, after: plain, may: ownsShop + ", update operatorboxes.orkestra.orkspace.io /b", want: "tenant may make boxes, and not one named a"},
		"a name that may be patched":     {of: of, after: plain, may: ownsShop + ", patch operatorboxes.orkestra.orkspace.io /a"},
		"a name that may be read":        {of: of, after: plain, may: ownsShop + ", get operatorboxes.orkestra.orkspace.io /a", want: "tenant may make boxes, and not one named a"},
		"the name in another group":      {of: of, after: plain, may: ownsShop + ", update operatorboxes.example.com /a", want: "tenant may make boxes, and not one named a"},
		"the name of another resource":   {of: of, after: plain, may: ownsShop + ", update crdhealths.orkestra.orkspace.io /a", want: "tenant may make boxes, and not one named a"},
		"own account":                    {of: of, after: plain, may: ownsShop},
		"an account of somebody":         {of: of, after: theirs, may: ownsShop, want: notOther},
		"an account without rights":      {of: of, after: plain, want: notShop},
		"the account elsewhere":          {of: of, after: plain, may: "impersonate serviceaccounts elsewhere/shop", want: notShop},
		"an account with another name":   {of: of, after: plain, may: "impersonate serviceaccounts team/shopper", want: notShop},
		"a user of that name":            {of: of, after: plain, may: "impersonate users /shop, get serviceaccounts", want: notShop},
		"no account":                     {of: of, after: box("", shops), may: ownsShop, want: noAccount},
		"the manager's identity":         {of: of, after: box("", shops), may: isManager},
		"that of another box":            {of: of, after: box("", shops), may: "use operatorboxes/manager-identity.orkestra.orkspace.io /b", want: noAccount},
		"use of boxes":                   {of: of, after: box("", shops), may: "use operatorboxes.orkestra.orkspace.io", want: noAccount},
		"use in another group":           {of: of, after: box("", shops), may: "use operatorboxes/manager-identity", want: noAccount},
		"manager and account":            {of: of, after: plain, may: isManager, want: notShop},

		"a change of the spec":               {of: of, before: plain, after: box("", shop+", "+shops+", workers: 2"), may: ownsShop},
		"of somebody's":                      {of: of, before: theirs, after: box("", other+", "+shops+", workers: 2"), may: ownsShop, want: notOther},
		"repointed":                          {of: of, before: theirs, after: plain, may: ownsShop, want: wasOther},
		"repointed from the manager":         {of: of, before: box("", shops), after: plain, may: ownsShop, want: wasManager},
		"repointed with both":                {of: of, before: theirs, after: plain, may: ownsShop + ", " + ownsOther},
		"repointed to the manager":           {of: of, before: plain, after: box("", shops), may: ownsShop, want: noAccount},
		"repointed to somebody's":            {of: of, before: plain, after: theirs, may: ownsShop, want: notOther},
		"labels":                             {of: of, before: theirs, after: box("labels: {a: b}", other+", "+shops)},
		"finalizers":                         {of: of, before: theirs, after: box("finalizers: [a/b]", other+", "+shops), want: notOther},
		"owner references":                   {of: of, before: theirs, after: box("ownerReferences: [{name: a}]", other+", "+shops), want: notOther},
		"deleted":                            {of: of, before: plain, may: ownsShop},
		"deleted, somebody's":                {of: of, before: theirs, may: ownsShop, want: wasOther},
		"deleted, the manager's":             {of: of, before: box("", shops), want: wasManager},
		"deleted, with the manager's rights": {of: of, before: box("", shops), may: isManager},

		"the collector, finalizers":                  {who: collectorUser, of: of, before: theirs, after: box("finalizers: [a/b]", other+", "+shops)},
		"the collector, the spec":                    {who: collectorUser, of: of, before: theirs, after: plain, want: "the box names ServiceAccount team/shop, and " + collectorUser},
		"the collector, a box":                       {who: collectorUser, of: of, after: theirs, want: "the box names"},
		"the collector, a deletion":                  {who: collectorUser, of: of, before: theirs},
		"the namespace controller, a deletion":       {who: namespaceUser, of: of, before: theirs},
		"the controller manager, a deletion":         {who: allInOneUser, of: of, before: theirs},
		"the manager, finalizers":                    {who: managerUser, of: of, before: theirs, after: box("finalizers: [a/b]", other+", "+shops)},
		"the manager outside, finalizers":            {who: outsideUser, of: of, before: theirs, after: box("finalizers: [a/b]", other+", "+shops)},
		"the manager, the spec":                      {who: managerUser, of: of, before: theirs, after: box("", other+", "+shops+", workers: 2"), want: "the box names"},
		"the manager, for somebody":                  {who: managerUser, of: of, before: theirs, after: box(asked, other+", "+shops+", workers: 2")},
		"the manager outside, for somebody":          {who: outsideUser, of: of, before: theirs, after: box(asked, other+", "+shops+", workers: 2")},
		"the manager, for somebody else":             {who: managerUser, of: of, before: box(asked, other+", "+shops), after: box(askedToo, other+", "+shops+", workers: 2")},
		"the manager, for somebody, beside rules":    {who: managerUser, of: of, before: box("", other+", "+shops+", "+judges), after: box(asked, other+", "+shops+", workers: 2, "+judges)},
		"the manager, for who asked before":          {who: managerUser, of: of, before: box(asked, other+", "+shops), after: box(asked, other+", "+shops+", workers: 2"), want: "the box names"},
		"the manager, for nobody any more":           {who: managerUser, of: of, before: box(asked, other+", "+shops), after: box("", other+", "+shops+", workers: 2"), want: "the box names"},
		"the manager, for somebody, another account": {who: managerUser, of: of, before: theirs, after: box(asked, shop+", "+shops), want: "the box names"},
		"the manager, for somebody, a box":           {who: managerUser, of: of, after: box(asked, other+", "+shops), want: "the box names"},
		"the manager, for somebody, a new box":       {who: managerUser, of: of, after: box(asked, shops), want: "the box names no account"},
		"a box that says who has asked":              {who: managerUser, box: "b", of: of, before: theirs, after: box(asked, other+", "+shops+", workers: 2"), want: "the box names"},
		"somebody who says who has asked":            {of: of, before: theirs, after: box(asked, other+", "+shops+", workers: 2"), want: notOther},
		"the manager, a deletion":                    {who: managerUser, of: of, before: theirs, want: "until now"},
		"the manager, a box":                         {who: managerUser, of: of, after: theirs, want: "the box names"},
		"a box that uses the manager":                {who: managerUser, box: "b", of: of, before: theirs, after: box("finalizers: [a/b]", other+", "+shops), want: "the box names"},
		"rules":                                      {of: of, after: box("", shop+", "+shops+", "+judges), may: ownsShop, want: notJudge},
		"rules, where they are enforced":             {of: of, after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", " + enforces1},
		"rules, in another group":                    {of: of, after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", enforce shops.other.com", want: notJudge},
		"rules, on another resource":                 {of: of, after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", " + enforces2, want: notJudge},
		"rules on what the box defines":              {of: of, after: box("", shop+", "+defined+", "+judges), may: ownsShop, want: notJudge},
		"rules on it, where they are enforced":       {of: of, after: box("", shop+", "+defined+", "+judges), may: ownsShop + ", " + enforces1},
		"a change beside rules":                      {of: of, before: box("", shop+", "+shops+", "+judges), after: box("", shop+", "+shops+", workers: 2, "+judges), may: ownsShop, want: notJudge},
		"a change beside rules that may be enforced": {of: of, before: box("", shop+", "+shops+", "+judges), after: box("", shop+", "+shops+", workers: 2, "+judges), may: ownsShop + ", " + enforces1},
		"rules that are added":                       {of: of, before: plain, after: box("", shop+", "+shops+", "+judges), may: ownsShop, want: notJudge},
		"rules that are taken out":                   {of: of, before: box("", shop+", "+shops+", "+judges), after: plain, may: ownsShop, want: notJudge},
		"rules led to another resource":              {of: of, before: box("", shop+", "+others+", "+judges), after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", " + enforces1, want: notJudge},
		"rules led from another resource":            {of: of, before: box("", shop+", "+shops+", "+judges), after: box("", shop+", "+others+", "+judges), may: ownsShop + ", " + enforces1, want: "spec.admission has the API server refuse resources of others.example.com"},
		"rules led with both":                        {of: of, before: box("", shop+", "+others+", "+judges), after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", " + enforces1 + ", " + enforces2},
		"rules led from what it defined":             {of: of, before: box("", shop+", "+redefine+", "+judges), after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", " + enforces1, want: notJudge},
		"rules led from it with both":                {of: of, before: box("", shop+", "+redefine+", "+judges), after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", " + enforces1 + ", " + enforces2},
		"rules on nothing":                           {of: of, after: box("", shop+", crd: {definition: {}}, "+judges), may: ownsShop + ", " + enforces1, want: "spec.admission has the API server refuse resources of ., and tenant may not enforce rules on them"},
		"rules on nothing before":                    {of: of, before: box("", shop+", crd: {definition: {}}, "+judges), after: box("", shop+", "+defined+", "+judges), may: ownsShop + ", " + enforces1},
		"rules, with an empty name":                  {of: of, after: box("", shop+", crd: {name: '', definition: {group: example.com, names: {plural: shops}}}, "+judges), may: ownsShop + ", " + enforces1},
		"rules, with an empty name before":           {of: of, before: box("", shop+", crd: {name: '', definition: {group: example.com, names: {plural: others}}}, "+judges), after: box("", shop+", "+shops+", "+judges), may: ownsShop + ", " + enforces1, want: notJudge},
		"a box without a spec":                       {of: of, after: "{metadata: {name: a}}", want: noAccount},
		"the manager, a box without a spec":          {who: managerUser, of: of, after: "{metadata: {name: a}}", want: "the box names no account"},
		"the collector, a box without a spec":        {who: collectorUser, of: of, after: "{metadata: {name: a}}", want: "the box names no account"},
		"deleted without a spec":                     {of: of, before: "{metadata: {name: a}}", want: wasManager},
		"deleted with rules":                         {of: of, before: box("", shop+", "+shops+", "+judges), may: ownsShop},
		"the manager beside rules":                   {who: managerUser, of: of, before: box("", shop+", "+shops+", "+judges), after: box("finalizers: [a/b]", shop+", "+shops+", "+judges)},
		"another resource":                           {of: "crdhealths.orkestra.orkspace.io", after: theirs},
		"the same name in another group":             {of: "operatorboxes.example.com", after: theirs},
		"a status":                                   {of: "operatorboxes/status.orkestra.orkspace.io", before: theirs, after: box("finalizers: [a/b]", other+", "+shops)},
	}
	for name, r := range requests {
		if r.before == "" && r.may != "" && r.want == "" && !strings.Contains(r.may, " operatorboxes.orkestra.orkspace.io /a") {
			r.may += ", " + changesIt // who makes a box may change it, but where that is the case
			requests[name] = r
		}
	}
	return requests
}

func boxCRDRequests() map[string]request {
	const (
		of          = "operatorboxes.orkestra.orkspace.io"
		notShops    = "the box serves shops.example.com, and tenant may not operate it: bind a ClusterRole with the verb operate on that resource"
		nothing     = "spec.crd.definition names no resource: give group and names.plural"
		deployments = "crd: {apiVersion: apps/v1, kind: Deployment}"
		wasOthers   = "until now the box serves others.example.com, and tenant may not operate it"
	)
	return map[string]request{
		"own resource":                      {of: of, after: box("", shops), may: operates},
		"of somebody":                       {of: of, after: box("", shops), want: notShops},
		"in one namespace":                  {of: of, after: box("", shops), may: operates + " team", want: notShops},
		"of another group":                  {of: of, after: box("", shops), may: "operate shops.other.com", want: notShops},
		"of another name":                   {of: of, after: box("", shops), may: operatesAny, want: notShops},
		"another verb":                      {of: of, after: box("", shops), may: "get shops.example.com, enforce shops.example.com", want: notShops},
		"own, defined":                      {of: of, after: box("", defined), may: operates},
		"of somebody, defined":              {of: of, after: box("", defined), want: notShops},
		"named and defined":                 {of: of, after: box("", "crd: {name: shops.example.com, definition: {group: example.com, names: {plural: others}}}"), may: operatesAny, want: notShops},
		"an empty name, and defined":        {of: of, after: box("", "crd: {name: '', definition: {group: example.com, names: {plural: shops}}}"), may: operates},
		"changed":                           {of: of, before: box("", shops), after: box("", shops+", workers: 2"), may: operates},
		"changed without the right":         {of: of, before: box("", shops), after: box("", shops+", workers: 2"), want: notShops},
		"labeled":                           {of: of, before: box("", shops), after: box("labels: {a: b}", shops)},
		"led to somebody's":                 {of: of, before: box("", others), after: box("", shops), may: operatesAny, want: notShops},
		"led from somebody's":               {of: of, before: box("", others), after: box("", shops), may: operates, want: wasOthers},
		"led with both rights":              {of: of, before: box("", others), after: box("", shops), may: operates + ", " + operatesAny},
		"led in one namespace":              {of: of, before: box("", others), after: box("", shops), may: operates + ", " + operatesAny + " team", want: wasOthers},
		"led from what it defined":          {of: of, before: box("", redefine), after: box("", shops), may: operates, want: wasOthers},
		"led from it with both":             {of: of, before: box("", redefine), after: box("", shops), may: operates + ", " + operatesAny},
		"led from an empty name":            {of: of, before: box("", "crd: {name: '', definition: {group: example.com, names: {plural: others}}}"), after: box("", shops), may: operates + ", " + operatesAny},
		"led from both":                     {of: of, before: box("", "crd: {name: others.example.com, definition: {group: example.com, names: {plural: shops}}}"), after: box("", shops), may: operates, want: wasOthers},
		"a definition of nothing":           {of: of, after: box("", "crd: {definition: {}}"), may: operates, want: nothing},
		"a definition without a group":      {of: of, after: box("", "crd: {definition: {names: {plural: shops}}}"), may: "operate shops", want: nothing},
		"a definition without a name":       {of: of, after: box("", "crd: {definition: {group: example.com}}"), may: operates, want: nothing},
		"a box without a spec":              {of: of, after: "{metadata: {name: a}}", may: operates, want: nothing},
		"one that is mended":                {of: of, before: box("", "crd: {definition: {}}"), after: box("", defined), may: operates},
		"one that is mended by anybody":     {of: of, before: box("", "crd: {definition: {}}"), after: box("", defined), want: notShops},
		"a kind":                            {of: of, after: box("", deployments), may: "operate deployments.apps"},
		"a kind of somebody":                {of: of, after: box("", deployments), may: operates, want: "the box serves deployments.apps, and tenant may not operate it"},
		"a kind without a group":            {of: of, after: box("", "crd: {apiVersion: v1, kind: Pod}"), may: "operate pods"},
		"a kind without both":               {of: of, after: box("", "crd: {apiVersion: v1, kind: Pod}"), may: "operate pods.apps", want: "the box serves pods, and"},
		"a kind that ends in s":             {of: of, after: box("", "crd: {apiVersion: networking.k8s.io/v1, kind: Ingress}"), may: "operate ingresses.networking.k8s.io"},
		"a kind that ends in y":             {of: of, after: box("", "crd: {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy}"), may: "operate networkpolicies.networking.k8s.io"},
		"a kind that is its plural":         {of: of, after: box("", "crd: {apiVersion: v1, kind: Endpoints}"), may: "operate endpoints"},
		"a kind with a plural":              {of: of, after: box("", "crd: {apiVersion: g.io/v1, kind: Gateway, plural: gateways}"), may: "operate gateways.g.io"},
		"a kind with an empty plural":       {of: of, after: box("", "crd: {apiVersion: apps/v1, kind: Deployment, plural: ''}"), may: "operate deployments.apps"},
		"a kind with an empty name":         {of: of, after: box("", "crd: {name: '', apiVersion: apps/v1, kind: Deployment}"), may: "operate deployments.apps"},
		"a kind and a name":                 {of: of, after: box("", "crd: {name: shops.example.com, apiVersion: apps/v1, kind: Deployment}"), may: "operate deployments.apps", want: notShops},
		"led from a kind":                   {of: of, before: box("", deployments), after: box("", shops), may: operates, want: "until now the box serves deployments.apps, and tenant may not operate it"},
		"a kind without an apiVersion":      {of: of, after: box("", "crd: {kind: Deployment}"), may: "operate deployments"},
		"deleted":                           {of: of, before: box("", shops)},
		"another resource":                  {of: "crdhealths.orkestra.orkspace.io", after: box("", shops)},
		"the same name in another group":    {of: "operatorboxes.example.com", after: box("", shops)},
		"the manager is not excepted":       {who: managerUser, of: of, before: box("", shops), after: box("", shops+", workers: 2"), want: "the box serves"},
		"the manager, for somebody":         {who: managerUser, of: of, before: box("", shops), after: box(asked, shops+", workers: 2")},
		"the manager outside, for somebody": {who: outsideUser, of: of, before: box("", shops), after: box(asked, shops+", workers: 2")},
		"the manager, for somebody else":    {who: managerUser, of: of, before: box(asked, shops), after: box(askedToo, shops+", workers: 2")},
		"the manager, for who asked before": {who: managerUser, of: of, before: box(asked, shops), after: box(asked, shops+", workers: 2"), want: "the box serves"},
		"the manager, for nobody any more":  {who: managerUser, of: of, before: box(asked, shops), after: box("", shops+", workers: 2"), want: "the box serves"},
		"the manager, for somebody, led":    {who: managerUser, of: of, before: box("", others), after: box(asked, shops), want: "the box serves"},
		"the manager, for somebody, a box":  {who: managerUser, of: of, after: box(asked, shops), want: "the box serves"},
		"a box that says who has asked":     {who: managerUser, box: "b", of: of, before: box("", shops), after: box(asked, shops+", workers: 2"), want: "the box serves"},
		"somebody who says who has asked":   {of: of, before: box("", shops), after: box(asked, shops+", workers: 2"), want: notShops},
		"the manager, what is no business":  {who: managerUser, of: of, before: box("", shops), after: box("finalizers: [a/b]", shops)},
	}
}

func boxAnnotationsRequests() map[string]request {
	const (
		of      = "operatorboxes.orkestra.orkspace.io"
		updates = "update operatorboxes.orkestra.orkspace.io /a"
		cleanup = "annotations: {orkestra.orkspace.io/cleanup: 'true'}"
		again   = "annotations: {orkestra.orkspace.io/cleanup: other}"
		confirm = "annotations: {orkestra.orkspace.io/confirm-account: uid}"

		notUpdates = "cleanup and confirm-account are set by those who may update OperatorBoxes, and tenant may not"
		notActs    = "cleanup and confirm-account are set by those who may act as the account of the box; it names "
		notShop    = notActs + "ServiceAccount team/shop, and tenant may not impersonate it"
		notManager = notActs + "no account, so that it acts as the manager, and tenant may not use the identity of the manager"
	)
	return map[string]request{
		"made without":                     {of: of, after: box("", shop+", "+shops)},
		"made with clean-up":               {of: of, after: box(cleanup, shop+", "+shops), may: updates + ", " + ownsShop},
		"made by who may not update":       {of: of, after: box(cleanup, shop+", "+shops), may: "create operatorboxes.orkestra.orkspace.io, " + ownsShop, want: notUpdates},
		"made by who may update another":   {of: of, after: box(cleanup, shop+", "+shops), may: "update operatorboxes.orkestra.orkspace.io /b, " + ownsShop, want: notUpdates},
		"made by who may update elsewhere": {of: of, after: box(cleanup, shop+", "+shops), may: "update operatorboxes, " + ownsShop, want: notUpdates},
		"made for an account of somebody":  {of: of, after: box(cleanup, shop+", "+shops), may: updates, want: notShop},
		"made for the manager":             {of: of, after: box(cleanup, shops), may: updates + ", " + ownsShop, want: notManager},
		"made by who may be the manager":   {of: of, after: box(cleanup, shops), may: updates + ", " + isManager},
		"made by who may use boxes":        {of: of, after: box(cleanup, shops), may: updates + ", use operatorboxes.orkestra.orkspace.io", want: notManager},
		"made by who uses other boxes":     {of: of, after: box(cleanup, shops), may: updates + ", use operatorboxes/manager-identity.orkestra.orkspace.io /b", want: notManager},
		"made by who uses another group":   {of: of, after: box(cleanup, shops), may: updates + ", use operatorboxes/manager-identity", want: notManager},
		"clean-up":                         {of: of, before: box("", shop+", "+shops), after: box(cleanup, shop+", "+shops), may: updates + ", " + ownsShop},
		"clean-up without the account":     {of: of, before: box("", shop+", "+shops), after: box(cleanup, shop+", "+shops), may: updates, want: notShop},
		"with one of another namespace":    {of: of, before: box("", shop+", "+shops), after: box(cleanup, shop+", "+shops), may: updates + ", impersonate serviceaccounts other/shop", want: notShop},
		"with one of another name":         {of: of, before: box("", shop+", "+shops), after: box(cleanup, shop+", "+shops), may: updates + ", " + ownsOther, want: notShop},
		"clean-up, changed":                {of: of, before: box(cleanup, shop+", "+shops), after: box(again, shop+", "+shops), may: updates, want: notShop},
		"clean-up, taken away":             {of: of, before: box(cleanup, shop+", "+shops), after: box("", shop+", "+shops), may: updates, want: notShop},
		"confirmed":                        {of: of, before: box("", shop+", "+shops), after: box(confirm, shop+", "+shops), may: updates, want: notShop},
		"confirmed no more":                {of: of, before: box(confirm, shop+", "+shops), after: box("", shop+", "+shops), may: updates, want: notShop},
		"left alone":                       {of: of, before: box(cleanup, shop+", "+shops), after: box(cleanup, shop+", workers: 2, "+shops)},
		"another annotation":               {of: of, before: box("", shop+", "+shops), after: box("annotations: {a: b}", shop+", "+shops)},
		"with the account that it named":   {of: of, before: box("", shop+", "+shops), after: box(cleanup, other+", "+shops), may: updates + ", " + ownsOther, want: notShop},
		"with the account that it names":   {of: of, before: box("", shop+", "+shops), after: box(cleanup, other+", "+shops), may: updates + ", " + ownsShop},
		"deleted":                          {of: of, before: box(cleanup, shop+", "+shops)},
		"another resource":                 {of: "crdhealths.orkestra.orkspace.io", after: box(cleanup, shop+", "+shops)},
		"the same name in another group":   {of: "operatorboxes.example.com", after: box(cleanup, shop+", "+shops)},
	}
}
