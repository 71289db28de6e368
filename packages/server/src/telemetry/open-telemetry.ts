import type * as Api from '@opentelemetry/api'
import type { SpanOptions } from './spans.ts'
import type { TurnListener } from './watch-turns.ts'

export type OpenTelemetryOptions = SpanOptions & {
  readonly listen: (listener: TurnListener) => void
  readonly problem: (error: unknown) => void
}

/** The symbol under which every copy of the OpenTelemetry API stores the registered SDK. */
const registered = Symbol.for('opentelemetry.js.api.1')

/**
 * Spans and metrics for the OpenTelemetry SDK of the embedding program. Loading the API takes some 30 ms, so it is
 * loaded only once an SDK is registered. Without an SDK nothing is loaded, created or sent.
 */
export function createOpenTelemetry(options: OpenTelemetryOptions) {
  let looking: Promise<void> | undefined

  async function load() {
    const api = await importApi()
    if (!api) return
    const [{ Spans }, { createMeasures }] = await Promise.all([import('./spans.ts'), import('./measures.ts')])
    options.listen(new Spans(api, options))
    options.listen(createMeasures(api, options))
  }

  return {
    /** Starts to use an SDK, if one has been registered. */
    look(): Promise<void> {
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

/** Loads the OpenTelemetry API. Returns undefined if the package, which the user provides, is not installed. */
async function importApi(): Promise<typeof Api | undefined> {
  try {
    return await import('@opentelemetry/api')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}
