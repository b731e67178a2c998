package status

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func path(names ...string) []string { return names }

func TestFit(t *testing.T) {
	w := newWriter(t, aStatus)
	for name, tc := range map[string]struct {
		path        []string
		value, want any
		problem     string
	}{
		"Text":            {path("phase"), "a", "a", ""},
		"NumberToText":    {path("phase"), int64(3), "3", ""},
		"FloatToText":     {path("phase"), 1.5, "1.5", ""},
		"WholeToText":     {path("phase"), 3.0, "3", ""},
		"BoolToText":      {path("phase"), true, "true", ""},
		"BrokenText":      {path("phase"), "a\xff\xfeb", "a\uFFFDb", ""},
		"MapToText":       {path("phase"), map[string]any{}, nil, "status.phase: wanted string, got object"},
		"ListToText":      {path("phase"), []any{}, nil, "status.phase: wanted string, got array"},
		"Integer":         {path("replicas"), 3, int64(3), ""},
		"TextToInteger":   {path("replicas"), "3", int64(3), ""},
		"FloatToInteger":  {path("replicas"), 3.0, int64(3), ""},
		"NumberToInteger": {path("replicas"), json.Number("3"), int64(3), ""},
		"Fraction":        {path("replicas"), 1.5, nil, "status.replicas: wanted integer, got number"},
		"HugeFloat":       {path("replicas"), 1e300, nil, "status.replicas: wanted integer, got number"},
		"WordToInteger":   {path("replicas"), "three", nil, "status.replicas: wanted integer, got string"},
		"EmptyToInteger":  {path("replicas"), "", nil, "status.replicas: wanted integer, got string"},
		"BoolToInteger":   {path("replicas"), true, nil, "status.replicas: wanted integer, got boolean"},
		"Number":          {path("ratio"), 0.5, 0.5, ""},
		"TextToNumber":    {path("ratio"), "0.5", 0.5, ""},
		"WholeToNumber":   {path("ratio"), "5", int64(5), ""},
		"NaNText":         {path("ratio"), "NaN", nil, "status.ratio: wanted number, got string"},
		"NaN":             {path("ratio"), math.NaN(), nil, "status.ratio: wanted a JSON value, got number"},
		"Infinite":        {path("free", "a"), math.Inf(1), nil, "status.free.a: wanted a JSON value, got number"},
		"Bool":            {path("ready"), true, true, ""},
		"TextToBool":      {path("ready"), "false", false, ""},
		"WordToBool":      {path("ready"), "yes", nil, "status.ready: wanted boolean, got string"},
		"NumberToBool":    {path("ready"), int64(1), nil, "status.ready: wanted boolean, got number"},
		"PortNumber":      {path("port"), int64(80), int64(80), ""},
		"PortText":        {path("port"), "http", "http", ""},
		"PortBool":        {path("port"), true, nil, "status.port: wanted integer or string, got boolean"},
		"PortMap":         {path("port"), map[string]any{}, nil, "status.port: wanted integer or string, got object"},
		"Free":            {path("free"), map[string]any{"a": []any{1.0, nil, map[string]any{"b": nil, "c": 1}}}, map[string]any{"a": []any{int64(1), nil, map[string]any{"c": int64(1)}}}, ""},
		"FreeScalar":      {path("free"), "x", nil, "status.free: wanted object, got string"},
		"MapValue":        {path("labels", "a"), int64(1), "1", ""},
		"Map":             {path("labels"), map[string]any{"a": int64(1), "b": nil}, map[string]any{"a": "1"}, ""},
		"List":            {path("nodes"), []any{map[string]any{"name": "a", "port": "1"}}, []any{map[string]any{"name": "a", "port": int64(1)}}, ""},
		"ListEntry":       {path("nodes"), []any{map[string]any{}, map[string]any{"port": "x"}}, nil, "status.nodes[1].port: wanted integer, got string"},
		"FirstByName":     {path("nodes"), []any{map[string]any{"port": "x", "name": []any{}}}, nil, "status.nodes[0].name: wanted string, got array"},
		"NullInList":      {path("names"), []any{"a", nil}, nil, "status.names[1]: wanted string, got null"},
		"NullAllowed":     {path("gaps"), []any{"a", nil}, []any{"a", nil}, ""},
		"TextToList":      {path("names"), "a", nil, "status.names: wanted array, got string"},
		"EmptyList":       {path("names"), []any{}, []any{}, ""},
		"Unknown":         {path("typo", "a"), 1.0, int64(1), ""},
		"NotJSON":         {path("free", "a"), []string{"x"}, nil, "status.free.a: wanted a JSON value, got []string"},
		"NotJSONInside":   {path("free"), map[string]any{"a": []any{func() {}}}, nil, "status.free.a[0]: wanted a JSON value, got func()"},
		"Null":            {path("replicas"), nil, nil, ""},
		"NoPath":          {nil, "x", "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := w.Fit(tc.path, tc.value)
			if tc.problem != "" {
				var misfit *FieldError
				g.Expect(errors.As(err, &misfit)).To(BeTrue())
				g.Expect(err).To(MatchError(tc.problem))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == nil {
				g.Expect(got).To(BeNil())
				return
			}
			g.Expect(got).To(Equal(tc.want))
			again, err := w.Fit(tc.path, got)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(got), "what fits stays as it is")
		})
	}
}

func TestFields(t *testing.T) {
	w := newWriter(t, aStatus)
	for name, tc := range map[string]struct {
		stored string
		fields []Field
		want   map[string]any // of nested, phase and labels
	}{
		"Set":              {"{}", []Field{{Path: path("phase"), Value: "a"}}, map[string]any{"phase": "a"}},
		"Replaced":         {"{phase: b}", []Field{{Path: path("phase"), Value: "a"}}, map[string]any{"phase": "a"}},
		"Removed":          {"{phase: b}", []Field{{Path: path("phase"), Remove: true, Value: "a"}}, map[string]any{}},
		"RemovedByNull":    {"{phase: b}", []Field{{Path: path("phase")}}, map[string]any{}},
		"NullMakesNothing": {"{}", []Field{{Path: path("labels", "a")}}, map[string]any{}},
		"RemovedDeep":      {"{labels: {a: b, c: d}}", []Field{{Path: path("labels", "a"), Remove: true}}, map[string]any{"labels": map[string]any{"c": "d"}}},
		"NothingToRemove":  {"{}", []Field{{Path: path("labels", "a"), Remove: true}}, map[string]any{}},
		"OthersStay":       {"{phase: b}", []Field{{Path: path("labels", "a"), Value: "c"}}, map[string]any{"phase": "b", "labels": map[string]any{"a": "c"}}},
		"ParentsAreMade":   {"{}", []Field{{Path: path("nested", "deep", "count"), Value: 1}}, map[string]any{"nested": map[string]any{"deep": map[string]any{"count": int64(1)}, "mode": "auto"}}},
		"NullParent":       {"{labels: null}", []Field{{Path: path("labels", "a"), Value: "c"}}, map[string]any{"labels": map[string]any{"a": "c"}}},
		"MapKeysGo":        {"{labels: {a: b, c: d}}", []Field{{Path: path("labels"), Value: map[string]any{"c": "e"}}}, map[string]any{"labels": map[string]any{"c": "e"}}},
		"NoPath":           {"{phase: b}", []Field{{Value: "a"}}, map[string]any{"phase": "b"}},
		"OneIntoAnother":   {"{}", []Field{{Path: path("labels"), Value: map[string]any{"a": "b"}}, {Path: path("labels", "c"), Value: "d"}}, map[string]any{"labels": map[string]any{"a": "b", "c": "d"}}},
		"FalseZeroAndText": {"{}", []Field{{Path: path("phase"), Value: ""}, {Path: path("nested", "deep", "count"), Value: 0}}, map[string]any{"phase": "", "nested": map[string]any{"deep": map[string]any{"count": int64(0)}, "mode": "auto"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			after, patch := write(t, w, stored(t, tc.stored), success(tc.fields...), early)
			g.Expect(patch).NotTo(BeNil())
			got, _, _ := unstructured.NestedMap(after.Object, "status")
			delete(got, "conditions")
			delete(got, "observedGeneration")
			g.Expect(got).To(Equal(tc.want))
			_, again := write(t, w, after, success(tc.fields...), late)
			g.Expect(again).To(BeNil(), "settled after one write")
		})
	}
}

// A stored status has come through the API server, which keeps text as UTF-8. What was text of other bytes is the same there, and is not
// written again.
func TestBrokenTextEqualsWhatIsStoredOfIt(t *testing.T) {
	g := NewWithT(t)
	before := stored(t, `{"phase": "a\ufffd", "names": ["\ufffdb"]}`)
	g.Expect(Patch(before, map[string]any{"phase": "a\xff", "names": []any{"\xffb"}})).To(BeNil())
	g.Expect(Patch(before, map[string]any{"phase": "a\xffc", "names": []any{"\xffb"}})).To(MatchJSON(`{"metadata":{"resourceVersion":"7"},"status":{"phase":"a\ufffdc"}}`))
}

func TestValuesAreCopied(t *testing.T) {
	g := NewWithT(t)
	value := map[string]any{"a": "b"}
	desired, _, err := newWriter(t, aStatus).Desired(stored(t, "{}"), success(
		Field{Path: path("labels"), Value: value}, Field{Path: path("labels", "c"), Value: "d"}), early)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(desired["labels"]).To(HaveLen(2))
	g.Expect(value).To(HaveLen(1))
}

func TestFieldsThatDoNotFit(t *testing.T) {
	for name, tc := range map[string]struct {
		stored string
		field  Field
		want   string
	}{
		"Value":           {"{free: {}}", Field{Path: path("replicas"), Value: "x"}, "status.replicas: wanted integer, got string"},
		"IntoScalar":      {"{free: {a: text}}", Field{Path: path("free", "a", "b"), Value: "x"}, "status.free.a: wanted object, got string"},
		"IntoList":        {"{free: {a: [1]}}", Field{Path: path("free", "a", "b"), Value: "x"}, "status.free.a: wanted object, got array"},
		"RemoveInScalar":  {"{free: {a: 1}}", Field{Path: path("free", "a", "b"), Remove: true}, "status.free.a: wanted object, got number"},
		"SchemaHasScalar": {"{free: {}}", Field{Path: path("phase", "a"), Value: "x"}, "status.phase: wanted string, got object"},
		"SchemaHasList":   {"{free: {}}", Field{Path: path("nodes", "a"), Value: "x"}, "status.nodes: wanted array, got object"},
		"SchemaHasEither": {"{free: {}}", Field{Path: path("port", "a"), Value: "x"}, "status.port: wanted integer or string, got object"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			obj := stored(t, tc.stored)
			before := obj.DeepCopy()
			desired, _, err := newWriter(t, aStatus).Desired(obj, success(
				Field{Path: path("ready"), Value: true}, tc.field, Field{Path: path("ratio"), Value: "no"}, Field{Path: path("phase"), Value: "late"}), early)
			g.Expect(err).To(BeAssignableToTypeOf(&FieldError{}))
			g.Expect(err).To(MatchError(tc.want), "the first one is reported")
			g.Expect(desired).To(And(HaveKeyWithValue("ready", true), HaveKeyWithValue("phase", "late"), HaveKey("conditions"), Not(HaveKey("ratio"))))
			g.Expect(desired["free"]).To(Equal(before.Object["status"].(map[string]any)["free"]), "what is stored stays")
		})
	}
}

// Values that look otherwise when they come back from the API server must not be written for ever.
func TestSettlesAfterOneWrite(t *testing.T) {
	w, err := NewWriter(nil, true)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, value := range map[string]any{
		"WholeFloat": 3.0, "Fraction": 0.1, "Huge": 1e300, "BigInteger": int64(math.MaxInt64), "BigFloat": float64(1 << 62),
		"Nulls": map[string]any{"a": nil, "b": map[string]any{"c": nil}}, "NullsInLists": []any{nil, map[string]any{"a": nil, "b": 1.0}},
		"Empty": map[string]any{"a": map[string]any{}, "b": []any{}, "c": ""}, "Broken": "a\xff\xffb", "BrokenKey": map[string]any{"\xff": "a"},
		"Markup": "<a> & \u2028", "MinusZero": math.Copysign(0, -1), "JSONNumber": []any{json.Number("3"), json.Number("3.5")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			result := success(Field{Path: path("value"), Value: value}, Field{Path: path("deep", "value"), Value: value})
			after, patch := write(t, w, stored(t, "{}"), result, early)
			g.Expect(patch).NotTo(BeNil())
			_, again := write(t, w, after, result, late)
			g.Expect(string(again)).To(BeEmpty())
		})
	}
}

// FuzzDesired writes any value to any path of any status. Nothing may panic, and the same result never writes twice.
func FuzzDesired(f *testing.F) {
	f.Add(`{"phase":"a","nested":{"deep":{"count":1}}}`, "nested", "deep", `{"count":"2"}`)
	f.Add(`{"conditions":[{"type":"Ready","lastTransitionTime":3},null]}`, "labels", "a", `[1,null,{"b":null}]`)
	f.Add(`{"free":{"a":1}}`, "free", "a", `"x"`)
	f.Add(`{"nullable":null,"names":["a"]}`, "nullable", "", `1e400`)
	f.Add(`{"conditions":[{"type":"Up","status":"False","lastTransitionTime":3},3]}`, "conditions", "Up", `{"status":true,"reason":"A"}`)
	f.Add(`{"conditions":{}}`, "conditions", "a/Up", `null`)
	w := newWriter(f, aStatus)
	f.Fuzz(func(t *testing.T, status, first, second, value string) {
		if !utf8.ValidString(first + second) {
			return // no JSON, and so no box, can hold such a path
		}
		obj := &unstructured.Unstructured{}
		if obj.UnmarshalJSON([]byte(`{"apiVersion":"a/v1","kind":"K","status":`+status+`}`)) != nil {
			return
		}
		var tree any
		if json.Unmarshal([]byte(value), &tree) != nil {
			return
		}
		names := path(first, second)
		if second == "" {
			names = path(first)
		}
		if first == "observedGeneration" || first == "conditions" && CheckType(second) != nil {
			return // reserved: Compile refuses them
		}
		// What is stored has passed the schema.
		clean, _, _ := w.Desired(obj, Result{}, early)
		obj.Object["status"] = clean
		result := success(Field{Path: names, Value: tree})
		if first == "conditions" {
			own, err := NewOwn(second, tree)
			if err != nil {
				return
			}
			result = success()
			result.Conditions = []Own{own}
		}
		if _, _, err := w.Desired(obj, result, early); err != nil {
			return
		}
		after, _ := write(t, w, obj, result, early)
		if _, patch := write(t, w, after, result, late); patch != nil {
			t.Fatalf("writes again: %s", patch)
		}
	})
}
