import type { EventOf, EventType, SessionEvent } from '@parley/protocol'
import type { ModelMessage } from 'ai6'
import { type Script, scriptInPrompt } from '../../adapters/scripted/script.ts'
import { type HostUnderTest, type HostUnderTestOptions, hostUnderTest } from '../../core/host-under-test.ts'
import { ai6, ai7 } from '../../transcripts/ai-sdk-modules-under-test.ts'
import { createParley, type LanguageModel, type Parley, type ParleyOptions } from './index.ts'

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

/** Both major versions, called in the same way. The parts that the tests use have the same types in both. */
export const sdks = [
  ['AI SDK 6', ai6],
  ['AI SDK 7', ai7 as unknown as typeof ai6],
] as const
export type Sdk = typeof ai6

/** The replies of all steps. The `response` of AI SDK 7 has only the replies of the last step. */
export async function repliedIn(result: {
  readonly response: { messages: ModelMessage[] } | PromiseLike<{ messages: ModelMessage[] }>
  readonly responseMessages?: ModelMessage[] | PromiseLike<ModelMessage[]>
}): Promise<ModelMessage[]> {
  return (await result.responseMessages) ?? (await result.response).messages
}

/** A prompt that is a script for the scripted agent. It may also be the last line of a longer prompt. */
export const prompted = (...script: Script): string => JSON.stringify(script)
const script = (text: string) => {
  const last = text.split('\n').at(-1) ?? ''
  return scriptInPrompt(last.startsWith('[{') ? last : text)
}

export type ModelUnderTest = AsyncDisposable & {
  readonly under: HostUnderTest
  readonly parley: Parley
  readonly model: LanguageModel
  sessions(): Promise<string[]>
  /** All events of a type, of all sessions in the order of their creation. */
  events<Type extends EventType>(type: Type): Promise<EventOf<Type>[]>
  /** Resolves when an event of this type is in the log of a session. */
  until(type: EventType): Promise<void>
}

export async function modelUnderTest(
  options: Partial<Omit<ParleyOptions, 'host'>> & { hosting?: HostUnderTestOptions } = {},
): Promise<ModelUnderTest> {
  const { hosting, ...defaults } = options
  const under = await hostUnderTest({ ...hosting, agent: { script, ...hosting?.agent } })
  const parley = createParley({ host: under.host, cwd: under.cwd, ...defaults })
  const sessions = async () => {
    const page = await under.host.list({ limit: 100 })
    return page.sessions.map(({ id }) => id).sort()
  }
  return {
    under,
    parley,
    model: parley('scripted'),
    sessions,
    async events<Type extends EventType>(type: Type) {
      const logs = await Promise.all((await sessions()).map((id) => eventsOf(under, id)))
      return logs.flat().filter((event): event is EventOf<Type> => event.type === type)
    },
    async until(type) {
      const [id = ''] = await sessions()
      for await (const event of under.host.events(id)) if (event.type === type) return
    },
    [Symbol.asyncDispose]: () => under[Symbol.asyncDispose](),
  }
}

async function eventsOf({ host }: HostUnderTest, id: string): Promise<SessionEvent[]> {
  const { events } = await host.read(id, { after: 0, limit: 10_000 })
  return events.map(({ json }) => JSON.parse(json))
}
