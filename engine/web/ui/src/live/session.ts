// Who is signed in, and how they sign in and out. The server says where; it keeps nothing that this page could read.
import { signal } from "@preact/signals";

/** nobody says that the server knows nobody here: the last answer was that somebody has to sign in. */
export const nobody = signal(false);

const longest = 1000;

/** signInAt leads to the sign-in, and back to what is shown. */
export function signInAt(path: string): string {
  const here = location.pathname + location.search;
  return here === "/" || here.length > longest ? path : `${path}?to=${encodeURIComponent(here)}`;
}

/** signOut has the server forget who is here; false: it did not. */
export async function signOut(path: string): Promise<boolean> {
  try {
    const response = await fetch(path, { method: "POST", credentials: "same-origin" });
    return response.ok;
  } catch {
    return false;
  }
}
