package value

import "strconv"

// Size is how many bytes a JSON value takes when it is encoded, without spaces. What has to be escaped in texts is not counted.
func Size(v any) int64 {
	switch v := v.(type) {
	case nil:
		return int64(len("null"))
	case bool:
		return int64(len(strconv.FormatBool(v)))
	case string:
		return int64(len(v)) + int64(len(`""`))
	case int64:
		var digits [20]byte
		return int64(len(strconv.AppendInt(digits[:0], v, 10)))
	case float64:
		var digits [32]byte
		return int64(len(strconv.AppendFloat(digits[:0], v, 'g', -1, 64)))
	case []any:
		size := int64(len("[]")) + int64(max(0, len(v)-1)) // with the commas
		for _, element := range v {
			size += Size(element)
		}
		return size
	case map[string]any:
		size := int64(len("{}")) + int64(max(0, len(v)-1))
		for key, element := range v {
			size += int64(len(key)+len(`"":`)) + Size(element)
		}
		return size
	default:
		return 0 // no JSON value
	}
}
