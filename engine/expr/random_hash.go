package expr

import (
	"encoding/base64"

	sproutcrypto "github.com/go-sprout/sprout/registry/crypto"
)

// hashFuncs make what passwords are stored as. They are go-sprout's, which draws from the system's source of randomness.
func hashFuncs() []row {
	s := sproutcrypto.NewRegistry()
	return []row{
		{"bcrypt", argText, "TEXT as bcrypt stores passwords.", `bcrypt "secret" | trunc 7`, "$2a$10$",
			func(st *state, text string) (string, error) {
				if err := st.do(workOfHash); err != nil {
					return "", err
				}
				return s.Bcrypt(text)
			}, drawn, ""},
		{"htpasswd", "USER PASSWORD", "A line for a file of users and passwords.", `htpasswd "me" "secret" | trunc 6`, "me:$2a",
			func(st *state, user, password string) (string, error) {
				if err := st.do(workOfHash); err != nil {
					return "", err
				}
				return s.Htpasswd(user, password)
			}, drawn, ""},
		{"derivePassword", "COUNTER KIND PASSWORD USER SITE", "A password for a site, made of a master password. KIND is long, medium, short, basic, pin or maximum.",
			`derivePassword 1 "pin" "secret" "me" "example.com" | len`, "4", derivePassword, drawn, ""},
		{"encryptAES", "PASSWORD TEXT", "TEXT encrypted with AES-256-CBC, in base64.", `encryptAES "secret" "hello" | decryptAES "secret"`, "hello", s.EncryptAES, drawn, ""},
		{"decryptAES", "PASSWORD TEXT", "What encryptAES made TEXT of.", `encryptAES "secret" "hello" | decryptAES "secret"`, "hello", decryptAES, drawn, ""},
	}
}

// derivePassword counts a part of what it takes, which it gives back at once: as much again is left for the rest of the evaluation.
func derivePassword(st *state, counter int64, kind, password, user, site string) (string, error) {
	if counter < 0 || counter > 1<<32-1 {
		return "", badArgument("COUNTER must be from 0 to 4294967295")
	}
	if err := st.allocate(maxMemory / 2); err != nil {
		return "", err
	}
	if err := st.do(workOfHash); err != nil {
		return "", err
	}
	return sproutcrypto.NewRegistry().DerivePassword(uint32(counter), kind, password, user, site)
}

// decryptAES checks what go-sprout takes for granted: its own code reads behind the end of short texts.
func decryptAES(password, text string) (string, error) {
	const block = 16
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%block != 0 || len(raw) == block {
		return "", badArgument("the text is not what encryptAES makes")
	}
	return sproutcrypto.NewRegistry().DecryptAES(password, text)
}
