import { metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

/** The real OpenTelemetry SDK, registered for this process. It stores everything that is reported to it. */
export function sdkUnderTest() {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 3_600_000,
  })
  const meterProvider = new MeterProvider({ readers: [reader] })
  trace.setGlobalTracerProvider(tracerProvider)
  metrics.setGlobalMeterProvider(meterProvider)
  return {
    async spans(): Promise<ReadableSpan[]> {
      await tracerProvider.forceFlush()
      return exporter.getFinishedSpans()
    },
    async metrics(): Promise<Map<string, MetricData>> {
      metricExporter.reset()
      await meterProvider.forceFlush()
      const all = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
      return new Map(all.flatMap((scope) => scope.metrics).map((metric) => [metric.descriptor.name, metric]))
    },
    async [Symbol.asyncDispose]() {
      trace.disable()
      metrics.disable()
      await tracerProvider.shutdown()
      await meterProvider.shutdown()
    },
  }
}

/** Spans as lines, each below its parent, in the order of their starts. */
export function treeOf(
  spans: readonly ReadableSpan[],
  more: (span: ReadableSpan) => string = () => '',
): string[] {
  const inside = (parent: string | undefined, depth: number): string[] =>
    spans
      .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
      .flatMap((span) => [
        `${'  '.repeat(depth)}${span.name}${more(span)}`,
        ...inside(span.spanContext().spanId, depth + 1),
      ])
  return inside(undefined, 0)
}
