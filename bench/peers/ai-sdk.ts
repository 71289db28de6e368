import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Hear, Place, Side } from './side.ts'

/**
 * The community provider of the AI SDK for Claude Code. Each turn is a `streamText` that resumes the conversation of the
 * previous turn.
 */
export const aiSdk: Side = {
  async start(place) {
    const { claudeCode, streamText } = await load(place)
    return {
      async newSession(prompt, hear) {
        let resume: string | undefined
        const turn = async (text: string, hearTurn: Hear) => {
          const model = claudeCode('sonnet', {
            cwd: place.work,
            env: { ...place.env },
            pathToClaudeCodeExecutable: place.programs.claude,
            settingSources: ['user'],
            systemPrompt: { type: 'preset', preset: 'claude_code' },
            ...(resume !== undefined && { resume }),
          })
          let failure: unknown
          const onError = ({ error }: { error: unknown }) => {
            failure = error
          }
          const result = streamText({ model, prompt: text, maxRetries: 0, onError })
          for await (const piece of result.textStream) hearTurn(piece)
          if (failure !== undefined) throw failure
          resume = (await result.finalStep).providerMetadata?.['claude-code']?.sessionId
        }
        await turn(prompt, hear)
        return { prompt: turn }
      },
      stop: async () => undefined,
    }
  },
}

type Call = {
  readonly model: unknown
  readonly prompt: string
  readonly maxRetries: number
  onError(event: { error: unknown }): void
}

type Provider = {
  claudeCode(model: string, settings: object): unknown
  streamText(call: Call): {
    readonly textStream: AsyncIterable<string>
    readonly finalStep: PromiseLike<{
      readonly providerMetadata?: Record<string, { sessionId?: string } | undefined>
    }>
  }
}

/** Imports the packages from their own folder, by a module in that folder. */
async function load({ programs }: Place): Promise<Provider> {
  const entry = join(programs.packages['ai-sdk'] ?? '', 'entry.mjs')
  writeFileSync(
    entry,
    "export { streamText } from 'ai'\nexport { claudeCode } from 'ai-sdk-provider-claude-code'\n",
  )
  return (await import(pathToFileURL(entry).href)) as Provider
}
