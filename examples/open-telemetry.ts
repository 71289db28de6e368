import { trace } from '@opentelemetry/api'
import { ConsoleSpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

/**
 * An OpenTelemetry SDK that prints spans; yours would send them to a collector. Load it before the program:
 * node --import ./examples/open-telemetry.ts examples/telemetry.ts
 */
const exporter = new ConsoleSpanExporter()
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
