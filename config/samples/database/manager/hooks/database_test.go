package hooks

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "example.com/database/api/v1"
)

func TestMemoryIsShared(t *testing.T) {
	m, err := share(&v1.DatabaseSpec{Memory: resource.MustParse("1Gi"), MaxConnections: 100}, 64)
	if err != nil || m != (memory{connections: 100, shared: 240, cache: 720, work: 2457}) {
		t.Errorf("got %+v, %v", m, err)
	}
	if _, err := share(&v1.DatabaseSpec{Memory: resource.MustParse("128Mi")}, 64); err == nil {
		t.Error("too little memory is no error")
	}
}

func TestNamesAreQuoted(t *testing.T) {
	got := users([]v1.User{{Name: `a"; DROP TABLE x; --`, Schemas: []string{"s"}}})
	want := "CREATE ROLE \"a\"\"; DROP TABLE x; --\" LOGIN;\nCREATE SCHEMA \"s\" AUTHORIZATION \"a\"\"; DROP TABLE x; --\";\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}
