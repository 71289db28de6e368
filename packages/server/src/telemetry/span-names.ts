/**
 * The names in spans and metrics. `gen_ai.*` and `error.type` come from OpenTelemetry's conventions for generative AI
 * (https://github.com/open-telemetry/semantic-conventions-genai); `parley.*` names have no equivalent there.
 */
export const attribute = {
  operation: 'gen_ai.operation.name',
  /** The agent's id, because only the agent knows which service its model comes from. */
  provider: 'gen_ai.provider.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  conversation: 'gen_ai.conversation.id',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  /** Includes tokens read from and written to a cache, as the conventions require. */
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  errorType: 'error.type',

  // These attributes are set only if the option `content` is set.
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',

  // These attributes are Parley's own.
  turnId: 'parley.turn.id',
  turnOutcome: 'parley.turn.outcome',
  costUsd: 'parley.turn.cost_usd',
  /** True if the turn started in another process, before a restart. */
  restarted: 'parley.turn.restarted',
  toolKind: 'parley.tool.kind',
  toolOutcome: 'parley.tool.outcome',
  requestType: 'parley.request.type',
  requestOutcome: 'parley.request.outcome',
  requestBy: 'parley.request.by',
  actorPerson: 'parley.actor.person.id',
  /** The id of the browser, token or link. */
  actorMeans: 'parley.actor.id',
  actorVia: 'parley.actor.via',
  parkReason: 'parley.turn.park_reason',
  interruptedBy: 'parley.turn.interrupted_by',
} as const

export const metric = {
  agentSeconds: 'gen_ai.invoke_agent.duration',
  toolSeconds: 'gen_ai.execute_tool.duration',
  tokens: 'gen_ai.client.token.usage',
  waitSeconds: 'parley.request.wait.duration',
  cost: 'parley.turn.cost',
} as const

/** The histogram buckets that the conventions prescribe. */
export const boundaries = {
  agentSeconds: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
  toolSeconds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  tokens: [
    1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
  ],
  waitSeconds: [0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400],
}
