import { Component, type ComponentChildren } from "preact";
import { texts } from "../texts";
import { Message } from "./text";

/** Failure stands in place of a page that fails, so that the rest goes on. */
export class Failure extends Component<{ children: ComponentChildren }, { error?: string }> {
  static override getDerivedStateFromError(error: unknown): { error: string } {
    return { error: String(error) };
  }

  render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <section class="note bad" role="alert">
        <div>
          <p><strong>{texts.problem.broken}.</strong> <Message of={this.state.error} /></p>
          <p>{texts.problem.brokenTodo}</p>
          <p><button type="button" onClick={() => location.reload()}>{texts.problem.reload}</button></p>
        </div>
      </section>
    );
  }
}
