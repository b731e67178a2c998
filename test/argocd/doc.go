// Package argocd runs Argo CD's application controller and repo server beside Orkestra on a real control plane, with a Git server of this machine: what is
// committed is applied, judged by the chart's health rule, changed, broken, taken back and removed. Both are built from Argo CD's Go module, in the module controllers.
package argocd
