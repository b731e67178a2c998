// Package mongodouble answers as a MongoDB server does, as far as the drivers ask, in the process of a test: for roles and validators, which
// FerretDB does not know. It speaks the wire protocol over pipes, and is written from its published description.
package mongodouble

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	opReply     = 1
	opQuery     = 2004
	opMsg       = 2013
	headerBytes = 16
)

// Server is a server without authentication.
type Server struct {
	mu sync.Mutex
	// Users have roles, by database and name: "db.name".
	Users map[string]bson.A
	// Passwords are those that were set, by database and name.
	Passwords map[string]string
	// Collections have options, by database and name.
	Collections map[string]bson.D
	// Writes are the commands that changed users or collections.
	Writes []string

	documents map[string][]bson.D
}

// New gives an empty server.
func New() *Server {
	return &Server{Users: map[string]bson.A{}, Passwords: map[string]string{}, Collections: map[string]bson.D{}, documents: map[string][]bson.D{}}
}

// Dial connects.
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	go s.serve(there) // It ends when the client closes its side.
	return here, nil
}

func (s *Server) serve(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	for {
		id, op, body, err := ReadMessage(connection)
		if err != nil {
			return
		}
		command, err := Command(op, body)
		if err != nil {
			return
		}
		answer, err := bson.Marshal(s.answer(command))
		if err != nil {
			return
		}
		if _, err := connection.Write(reply(id, op, answer)); err != nil {
			return
		}
	}
}

// ReadMessage reads one message.
func ReadMessage(r io.Reader) (id, op uint32, body []byte, err error) {
	header := make([]byte, headerBytes)
	if _, err = io.ReadFull(r, header); err != nil {
		return 0, 0, nil, err
	}
	body = make([]byte, binary.LittleEndian.Uint32(header)-headerBytes)
	_, err = io.ReadFull(r, body)
	return binary.LittleEndian.Uint32(header[4:]), binary.LittleEndian.Uint32(header[12:]), body, err
}

// Command gives the document of a request, with the documents of its second section as arrays.
func Command(op uint32, body []byte) (bson.D, error) {
	var out bson.D
	if op == opQuery {
		end := slices.Index(body[4:], 0) + 5
		return out, bson.Unmarshal(body[end+8:], &out)
	}
	if op != opMsg {
		return nil, errors.New("an operation that is not known")
	}
	for rest := body[4:]; len(rest) > 4; {
		size := binary.LittleEndian.Uint32(rest[1:])
		section := rest[1 : 1+size]
		if rest[0] == 0 {
			var document bson.D
			if err := bson.Unmarshal(section, &document); err != nil {
				return nil, err
			}
			out = append(document, out...)
		} else {
			end := slices.Index(section[4:], 0) + 4
			name, list := string(section[4:end]), bson.A{}
			for items := section[end+1:]; len(items) > 0; {
				length := binary.LittleEndian.Uint32(items)
				var document bson.D
				if err := bson.Unmarshal(items[:length], &document); err != nil {
					return nil, err
				}
				list, items = append(list, document), items[length:]
			}
			out = append(out, bson.E{Key: name, Value: list})
		}
		rest = rest[1+size:]
	}
	return out, nil
}

func reply(to, op uint32, answer []byte) []byte {
	prefix := make([]byte, 5)
	kind := uint32(opMsg)
	if op == opQuery {
		prefix, kind = make([]byte, 20), opReply
		binary.LittleEndian.PutUint32(prefix[16:], 1)
	}
	out := make([]byte, headerBytes)
	binary.LittleEndian.PutUint32(out, uint32(headerBytes+len(prefix)+len(answer)))
	binary.LittleEndian.PutUint32(out[8:], to)
	binary.LittleEndian.PutUint32(out[12:], kind)
	return slices.Concat(out, prefix, answer)
}

func get(document bson.D, key string) any {
	for _, e := range document {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

func text(document bson.D, key string) string {
	value, _ := get(document, key).(string)
	return value
}

func ok(more ...bson.E) bson.D { return append(bson.D(more), bson.E{Key: "ok", Value: 1.0}) }

func failed(code int32, name, message string) bson.D {
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: message}, {Key: "code", Value: code}, {Key: "codeName", Value: name}}
}

func cursor(space string, items ...any) bson.D {
	return ok(bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: space}, {Key: "firstBatch", Value: append(bson.A{}, items...)}}})
}

func (s *Server) answer(command bson.D) bson.D {
	s.mu.Lock()
	defer s.mu.Unlock()
	database, first := text(command, "$db"), command[0]
	name, _ := first.Value.(string)
	full := database + "." + name
	switch strings.ToLower(first.Key) {
	case "hello", "ismaster":
		return ok(bson.E{Key: "isWritablePrimary", Value: true}, bson.E{Key: "ismaster", Value: true}, bson.E{Key: "helloOk", Value: true}, bson.E{Key: "maxBsonObjectSize", Value: int32(1 << 24)},
			bson.E{Key: "maxMessageSizeBytes", Value: int32(48000000)}, bson.E{Key: "maxWriteBatchSize", Value: int32(100000)}, bson.E{Key: "minWireVersion", Value: int32(0)}, bson.E{Key: "maxWireVersion", Value: int32(21)})
	case "find", "insert", "update", "delete":
		return s.document(first.Key, full, command)
	case "usersinfo", "createuser", "updateuser":
		return s.user(first, database, command)
	case "create", "collmod", "listcollections", "listindexes":
		return s.collection(first, database, command)
	}
	return ok()
}

func (s *Server) document(command, full string, in bson.D) bson.D {
	var filter bson.D
	switch command {
	case "find":
		filter, _ = get(in, "filter").(bson.D)
	case "insert":
		for _, one := range get(in, "documents").(bson.A) {
			s.documents[full] = append(s.documents[full], one.(bson.D))
		}
		return ok(bson.E{Key: "n", Value: int32(1)})
	case "update":
		update := get(in, "updates").(bson.A)[0].(bson.D)
		filter = get(update, "q").(bson.D)
		set := get(get(update, "u").(bson.D), "$set").(bson.D)
		for i, one := range s.documents[full] {
			if text(one, "_id") == text(filter, "_id") {
				one = slices.DeleteFunc(slices.Clone(one), func(e bson.E) bool { return e.Key == set[0].Key })
				s.documents[full][i] = append(one, set...)
			}
		}
		return ok(bson.E{Key: "n", Value: int32(1)})
	}
	var out []any
	for _, one := range s.documents[full] {
		if len(filter) == 0 || text(one, "_id") == text(filter, "_id") {
			out = append(out, one)
		}
	}
	return cursor(full, out...)
}

func (s *Server) user(first bson.E, database string, in bson.D) bson.D {
	if who, asked := first.Value.(bson.D); asked {
		roles, found := s.Users[text(who, "db")+"."+text(who, "user")]
		users := bson.A{}
		if found {
			users = append(users, bson.D{{Key: "user", Value: text(who, "user")}, {Key: "roles", Value: roles}})
		}
		return ok(bson.E{Key: "users", Value: users})
	}
	full := database + "." + first.Value.(string)
	_, found := s.Users[full]
	switch {
	case found && first.Key == "createUser":
		return failed(51003, "Location51003", "User already exists")
	case !found && first.Key == "updateUser":
		return failed(11, "UserNotFound", "User not found")
	}
	s.Writes = append(s.Writes, first.Key)
	if roles, given := get(in, "roles").(bson.A); given {
		s.Users[full] = roles
	}
	if password := text(in, "pwd"); password != "" {
		s.Passwords[full] = password
	}
	return ok()
}

func (s *Server) collection(first bson.E, database string, in bson.D) bson.D {
	name, _ := first.Value.(string)
	full := database + "." + name
	options := slices.DeleteFunc(slices.Clone(in[1:]), func(e bson.E) bool {
		return !slices.Contains([]string{"validator", "validationLevel", "validationAction", "capped", "size", "max"}, e.Key)
	})
	switch first.Key {
	case "create":
		if _, found := s.Collections[full]; found {
			return failed(48, "NamespaceExists", "Collection already exists")
		}
		s.Writes = append(s.Writes, first.Key)
		s.Collections[full] = options
	case "collMod":
		s.Writes = append(s.Writes, first.Key)
		for _, option := range options {
			kept := slices.DeleteFunc(s.Collections[full], func(e bson.E) bool { return e.Key == option.Key })
			s.Collections[full] = append(kept, option)
		}
	case "listIndexes":
		return cursor(full)
	default:
		filter, _ := get(in, "filter").(bson.D)
		wanted := database + "." + text(filter, "name")
		if options, found := s.Collections[wanted]; found {
			return cursor(wanted, bson.D{{Key: "name", Value: text(filter, "name")}, {Key: "type", Value: "collection"}, {Key: "options", Value: options}})
		}
		return cursor(wanted)
	}
	return ok()
}
