import { hashOf } from './hash.ts'
import type { RecordedOutput } from './record-output.ts'

/** The maximum number of calls that are remembered between the check and the result. */
const maxCalls = 1000

/**
 * The calls that the host has checked and that the agent then approves by itself. The result of such a call records
 * the hash of its input, so that every call in a log has a decision.
 */
export class CheckedCalls {
  /** The number of checks of each call that no result has followed yet. */
  readonly #checked = new Map<string, number>()
  readonly #called = new Map<string, string>()

  add(tool: string, input: unknown): void {
    keepLatest(this.#checked)
    const hash = hashOf({ tool, input })
    this.#checked.set(hash, (this.#checked.get(hash) ?? 0) + 1)
  }

  /** Returns the output. If it is the result of a checked call, adds the hash. */
  marked(output: RecordedOutput): RecordedOutput {
    if (output.type === 'tool-call.called') {
      keepLatest(this.#called)
      const hash = hashIfSerialisable({ tool: output.name, input: output.input })
      if (hash !== undefined) this.#called.set(output.toolCallId, hash)
    }
    if (output.type !== 'tool-call.ended') return output
    const checked = this.#called.get(output.toolCallId)
    this.#called.delete(output.toolCallId)
    return checked !== undefined && this.#takeCheck(checked) ? { ...output, checked } : output
  }

  /** Uses up one check of the call, so that a later call with the same input needs a check of its own. */
  #takeCheck(hash: string): boolean {
    const count = this.#checked.get(hash) ?? 0
    if (count > 1) this.#checked.set(hash, count - 1)
    else this.#checked.delete(hash)
    return count > 0
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

function keepLatest(list: Map<string, unknown>): void {
  const [oldest] = list.keys()
  if (list.size >= maxCalls && oldest !== undefined) list.delete(oldest)
}
