// Package flux runs Flux's own controllers beside Orkestra on a real control plane, with a Git server of this machine: what is committed is applied, waited for
// by health, changed, broken, taken back and removed, and the chart is installed, upgraded and uninstalled by a HelmRelease. The controllers are built from
// their Go modules, in the module controllers.
package flux
