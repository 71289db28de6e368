import type { SessionOptions } from '@parley/protocol'
import type { CallOptions, FunctionTool, UnsupportedSetting, Warning } from './specification.ts'

/**
 * The settings of a call that become settings of the session. If an agent refuses a setting in `wanted`, the
 * error names the setting.
 */
export type CallSettings = {
  readonly tools: readonly FunctionTool[]
  readonly wanted: Pick<SessionOptions, 'effort' | 'outputSchema'>
  /**
   * True if the reply must be JSON. The agent gets the schema through `outputSchema`, or as a sentence in the
   * prompt.
   */
  readonly json: boolean
  readonly warnings: readonly Warning[]
}

const unsupported: readonly UnsupportedSetting[] = [
  'maxOutputTokens',
  'temperature',
  'stopSequences',
  'topP',
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
]

export function callSettings(options: CallOptions): CallSettings {
  const { toolChoice, responseFormat, reasoning, providerOptions } = options
  const warnings: Warning[] = unsupported
    .filter((setting) => options[setting] !== undefined)
    .map((feature) => ({
      type: 'unsupported',
      feature,
      details: 'The agent decides; a session has no such setting.',
    }))
  const warn = (feature: string, details: string) => {
    warnings.push({ type: 'unsupported', feature, details })
  }
  for (const name of Object.keys(providerOptions?.parley ?? {})) {
    if (name === 'person') continue
    warn(`providerOptions.parley.${name}`, 'Pass session settings to createParley or to the model.')
  }
  for (const tool of options.tools ?? []) {
    if (tool.type === 'provider') warn(`tool ${tool.id}`, 'Tools of another provider are not supported.')
  }
  const choice = toolChoice?.type ?? 'auto'
  if (choice !== 'auto' && choice !== 'none') warn('toolChoice', 'The agent decides which tools it calls.')
  const tools = (options.tools ?? []).filter((tool) => tool.type === 'function')
  const json = responseFormat?.type === 'json'
  const schema = json ? responseFormat.schema : undefined
  const effort = reasoning === undefined || reasoning === 'provider-default' ? undefined : reasoning
  return {
    tools: choice === 'none' ? [] : tools,
    wanted: {
      ...(effort !== undefined && { effort }),
      ...(schema !== undefined && { outputSchema: schema as Record<string, unknown> }),
    },
    json,
    warnings,
  }
}

/**
 * The sentence that requests JSON in the prompt if the agent does not support a schema, and the warnings
 * about settings that the agent does not support.
 */
export function inWords(
  { json, wanted }: CallSettings,
  refused: readonly string[],
): { words: string | undefined; warnings: Warning[] } {
  const warnings: Warning[] = []
  if (refused.includes('effort')) {
    warnings.push({
      type: 'unsupported',
      feature: 'reasoning',
      details: 'This agent has no reasoning effort setting.',
    })
  }
  if (!json || (wanted.outputSchema && !refused.includes('outputSchema')))
    return { words: undefined, warnings }
  const details = 'The prompt asks the agent for JSON; the reply is not validated.'
  warnings.push({ type: 'compatibility', feature: 'responseFormat', details })
  const fits = wanted.outputSchema ? ` that fits this schema: ${JSON.stringify(wanted.outputSchema)}` : ''
  return { words: `[Answer with nothing but JSON${fits}.]`, warnings }
}
