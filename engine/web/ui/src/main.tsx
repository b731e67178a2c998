import { render } from "preact";
import { App } from "./app";
import { run } from "./live/clock";
import { watch } from "./live/stream";
import { follow } from "./route";

follow();
run();
watch();
render(<App />, document.getElementById("app")!);
