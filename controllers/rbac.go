package controllers

// The rights of the manager over what is not its own. The rights over Orkestra's kinds stand above the code that uses them; those
// over a user's CRD, and over other child kinds, come from roles that are aggregated to the manager's. Nothing here may hold a
// wildcard, or a kind that grants rights: a box could then give away more than its author has.

// Child kinds that the short forms make: they are applied, watched through one informer per kind, and pruned.
//
// Workloads.
// +kubebuilder:rbac:groups=apps,resources=daemonsets;deployments;statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=cronjobs;jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
//
// What workloads use.
// +kubebuilder:rbac:groups="",resources=configmaps;persistentvolumeclaims;secrets;serviceaccounts,verbs=get;list;watch;create;patch;delete
//
// How workloads are reached.
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses;networkpolicies,verbs=get;list;watch;create;patch;delete
//
// Namespaces and their limits.
// +kubebuilder:rbac:groups="",resources=limitranges;namespaces;resourcequotas,verbs=get;list;watch;create;patch;delete

// CRDs: schemas are read to check templates; crd.definition installs, changes and (deletionPolicy: Delete) deletes one.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch;create;patch;delete

// Events about boxes and resources, in the namespaces of the resources.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
