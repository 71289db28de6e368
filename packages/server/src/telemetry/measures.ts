import type * as Api from '@opentelemetry/api'
import { attribute, boundaries, metric } from './span-names.ts'
import { allInput, type SpanOptions, toolFailed, toolType, turnErrorType } from './spans.ts'
import type { TurnListener } from './watch-turns.ts'

/** Names of tools and models come from outside, so only this many different names of each are recorded. */
const maxNames = 200

/** Metrics for OpenTelemetry. Durations are the same as those of the spans. */
export function createMeasures(
  api: typeof Api,
  options: Pick<SpanOptions, 'nameOf' | 'version'>,
): TurnListener {
  const { nameOf } = options
  const { agentSeconds, toolSeconds, waitSeconds, tokens, cost } = instruments(api, options.version())
  const tools = boundedNames()
  const models = boundedNames()

  return {
    turnEnded(turn, end) {
      const { agent, model } = turn
      const errorType = turnErrorType(end)
      const name = { [attribute.agentName]: nameOf(agent) }
      agentSeconds.record((end.at - turn.at) / 1000, {
        ...name,
        [attribute.turnOutcome]: end.outcome,
        ...(errorType && { [attribute.errorType]: errorType }),
      })
      if (end.costUsd !== undefined && end.costUsd > 0) cost.add(end.costUsd, name)
      if (!end.usage) return
      const shared = {
        ...name,
        [attribute.operation]: 'invoke_agent',
        [attribute.provider]: agent,
        ...(model !== undefined && { [attribute.requestModel]: models(model) }),
      }
      tokens.record(allInput(end.usage), { ...shared, [attribute.tokenType]: 'input' })
      tokens.record(end.usage.output, { ...shared, [attribute.tokenType]: 'output' })
    },
    callEnded(agent, end, call) {
      if (!call || call.isFound) return
      toolSeconds.record((end.at - call.at) / 1000, {
        [attribute.toolName]: tools(call.name),
        [attribute.toolType]: toolType(call.name),
        [attribute.toolKind]: call.kind,
        [attribute.toolOutcome]: end.outcome,
        [attribute.agentName]: nameOf(agent),
        ...(end.outcome === 'failed' && { [attribute.errorType]: toolFailed }),
      })
    },
    requestEnded(agent, { outcome, by, at }, request) {
      if (!request) return
      waitSeconds.record((at - request.at) / 1000, {
        [attribute.agentName]: nameOf(agent),
        [attribute.requestType]: request.type,
        [attribute.requestOutcome]: outcome,
        [attribute.requestBy]: by,
      })
    },
  }
}

function instruments({ metrics }: typeof Api, version: string) {
  const meter = metrics.getMeter('@parley/server', version)
  const histogram = (of: keyof typeof boundaries, unit: string, description: string) =>
    meter.createHistogram(metric[of], {
      unit,
      description,
      advice: { explicitBucketBoundaries: boundaries[of] },
    })
  return {
    agentSeconds: histogram('agentSeconds', 's', 'Duration of turns.'),
    toolSeconds: histogram(
      'toolSeconds',
      's',
      'Duration of tool calls, including the time that they waited for people.',
    ),
    waitSeconds: histogram(
      'waitSeconds',
      's',
      'Time that permission requests and questions waited for an answer.',
    ),
    tokens: histogram('tokens', '{token}', 'Tokens that turns used, as reported by agents.'),
    cost: meter.createCounter(metric.cost, {
      unit: '{USD}',
      description: 'Cost of turns, as reported by agents.',
    }),
  }
}

function boundedNames(): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.has(name)) return name
    if (known.size >= maxNames) return '_OTHER'
    known.add(name)
    return name
  }
}
