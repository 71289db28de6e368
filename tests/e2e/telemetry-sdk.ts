import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { trace } from '@opentelemetry/api'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'

/**
 * The OpenTelemetry SDK as a user loads it before the program, with `--import`. Each span is written to a file the
 * moment it ends, so that a kill loses none. A subscriber that fails at every event is added too.
 */
const file = process.env.TEST_SPANS ?? ''

trace.setGlobalTracerProvider(
  new TracerProvider({
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd: (span: ReadableSpan) => appendFileSync(file, `${JSON.stringify(lineOf(span))}\n`),
        forceFlush: async () => undefined,
        shutdown: async () => undefined,
      },
    ],
  }),
)

subscribe('parley:event', () => {
  throw new Error('a subscriber that fails')
})

export type SpanLine = ReturnType<typeof lineOf>

function lineOf(span: ReadableSpan) {
  return {
    process: process.pid,
    name: span.name,
    id: span.spanContext().spanId,
    trace: span.spanContext().traceId,
    parent: span.parentSpanContext?.spanId,
    attributes: span.attributes,
    events: span.events.map(({ name }) => name),
    seconds: span.duration[0] + span.duration[1] / 1e9,
  }
}
