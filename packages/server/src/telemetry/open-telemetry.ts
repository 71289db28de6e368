import type * as Api from '@opentelemetry/api'
import type { TurnListener } from './watch-turns.ts'

export type OpenTelemetryOptions = {
  /** Prompts, answers, and the inputs and results of tools too. Without it spans hold none of them. */
  readonly content: boolean
  readonly version: () => string
  /** What people call an agent. */
  readonly nameOf: (agent: string) => string
  /** From now on this wants to hear of turns. */
  readonly listen: (listener: TurnListener) => void
  readonly problem: (error: unknown) => void
}

export type OpenTelemetry = {
  /** Looks whether an SDK was registered since, and begins to speak to it if so. */
  look(): Promise<void>
}

/** Where every copy of the OpenTelemetry API keeps the SDK that was registered with it. */
const registered = Symbol.for('opentelemetry.js.api.1')

/**
 * Spans and metrics for the OpenTelemetry SDK of whoever runs this. Without one nothing is loaded, made or sent: the API
 * costs some 30 ms to load, so it is loaded only once an SDK has shown itself.
 */
export function createOpenTelemetry(options: OpenTelemetryOptions): OpenTelemetry {
  let looking: Promise<void> | undefined

  async function load() {
    const api = await importApi()
    if (!api) return
    const [{ createSpans }, { createMeasures }] = await Promise.all([
      import('./spans.ts'),
      import('./measures.ts'),
    ])
    options.listen(createSpans(api, options))
    options.listen(createMeasures(api, options))
  }

  return {
    look() {
      if (!hasSdk()) return Promise.resolve()
      looking ??= load().catch(options.problem)
      return looking
    },
  }
}

function hasSdk(): boolean {
  const api = (globalThis as { [registered]?: { trace?: unknown; metrics?: unknown } })[registered]
  return api?.trace !== undefined || api?.metrics !== undefined
}

/** Nothing if the package is not there: it is the user's to bring. */
async function importApi(): Promise<typeof Api | undefined> {
  try {
    return await import('@opentelemetry/api')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
