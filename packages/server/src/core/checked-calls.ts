import { hashOf } from './hash.ts'
import type { RecordedOutput } from './record-output.ts'

/** How many calls are remembered between the check and the result. */
const maxCalls = 1000

/**
 * The calls that an agent approves by itself, after the host has found that neither a rule nor the mode refuses them.
 * The result of such a call names the hash of its input, so that every call in a log has a decision.
 */
export class CheckedCalls {
  readonly #checked = new Set<string>()
  readonly #called = new Map<string, string>()

  add(tool: string, input: unknown): void {
    keepLatest(this.#checked)
    this.#checked.add(hashOf({ tool, input }))
  }

  /** The output, with the hash if it is the result of a call that was checked. */
  marked(output: RecordedOutput): RecordedOutput {
    if (output.type === 'tool-call.called') {
      keepLatest(this.#called)
      const hash = hashIfSerialisable({ tool: output.name, input: output.input })
      if (hash !== undefined) this.#called.set(output.toolCallId, hash)
    }
    if (output.type !== 'tool-call.ended') return output
    const checked = this.#called.get(output.toolCallId)
    this.#called.delete(output.toolCallId)
    return checked !== undefined && this.#checked.has(checked) ? { ...output, checked } : output
  }
}

/** A call whose input cannot be serialised is recorded as `agent.unrecognised`, so its hash is not needed. */
function hashIfSerialisable(call: object): string | undefined {
  try {
    return hashOf(call)
  } catch {
    return undefined
  }
}

function keepLatest(list: Set<string> | Map<string, string>): void {
  const [oldest] = list.keys()
  if (list.size >= maxCalls && oldest !== undefined) list.delete(oldest)
}
