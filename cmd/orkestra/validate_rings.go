package main

// dependsOn gives what a box of the files depends on. Boxes that no file holds depend on nothing, as far as is known here.
func (v *validator) dependsOn(name string) []string {
	for _, doc := range v.docs {
		if doc.kind() != kindBox || doc.name() != name {
			continue
		}
		box, _ := decode(doc.content)
		if box == nil {
			return nil // its own mistakes are told
		}
		names := make([]string, 0, len(box.Spec.DependsOn))
		for _, d := range box.Spec.DependsOn {
			names = append(names, d.Name)
		}
		return names
	}
	return nil
}
