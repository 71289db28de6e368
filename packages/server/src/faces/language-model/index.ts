import { ParleyError } from '@parley/protocol'
import type { Host } from '../../core/index.ts'
import { type Begun, Histories, type ModelLimits, type SessionDefaults } from './histories.ts'
import { LanguageModelError, modelError } from './model-error.ts'
import { Reply } from './reply.ts'
import type { CallOptions, LanguageModel, StreamPart } from './specification.ts'

export type {
  ModelLimits,
  /** The earlier name of ModelLimits. */
  ModelLimits as DoorLimits,
  SessionDefaults,
  /** The earlier name of SessionDefaults. */
  SessionDefaults as SessionWishes,
} from './histories.ts'
export { LanguageModelError } from './model-error.ts'
export type { PermissionDecision, RequestContext, RequestHandlers } from './requests.ts'
export type { LanguageModel } from './specification.ts'

export type ParleyOptions = SessionDefaults & {
  readonly host: Host
  readonly limits?: Partial<ModelLimits>
}

/**
 * An agent as a language model of the AI SDK: `parley('claude')`, or with one of its models `parley('claude/opus')`.
 */
export type Parley = {
  (modelId: string, defaults?: Partial<SessionDefaults>): LanguageModel
  readonly specificationVersion: 'v3'
  languageModel(modelId: string): LanguageModel
  embeddingModel(modelId: string): never
  imageModel(modelId: string): never
}

const defaultLimits: ModelLimits = { sessions: 1_000, waiting: 64, waitMs: 10 * 60_000, gatherMs: 20 }

/**
 * The language-model face: offers the agents of a host to programs that use the AI SDK, version 6 or 7, and
 * hold the history themselves. All sessions belong to the host, so the other faces can reach them too.
 */
export function createParley({ host, limits, ...usual }: ParleyOptions): Parley {
  const histories = new Histories(host, { ...defaultLimits, ...limits })
  const model = (modelId: string, defaults: Partial<SessionDefaults> = {}): LanguageModel => {
    const [agent = '', ...named] = modelId.split('/')
    const all = { ...usual, ...(named.length > 0 && { model: named.join('/') }), ...defaults }
    const begin = (call: CallOptions) =>
      histories.begin(agent, all, call).catch((error) => {
        throw modelError(error, modelId)
      })
    return languageModel(modelId, begin)
  }
  return Object.assign(model, {
    specificationVersion: 'v3' as const,
    languageModel: (modelId: string) => model(modelId),
    embeddingModel: (modelId: string) => noSuchModel(modelId, 'embeddingModel'),
    imageModel: (modelId: string) => noSuchModel(modelId, 'imageModel'),
  })
}

function languageModel(modelId: string, begin: (call: CallOptions) => Promise<Begun>): LanguageModel {
  return {
    specificationVersion: 'v3',
    provider: 'parley',
    modelId,
    supportedUrls: {},
    async doGenerate(call) {
      const begun = await begin(call)
      const reply = new Reply()
      const never = new AbortController().signal
      try {
        for await (const _ of replying(begun, reply, begun.turn.step(call.abortSignal ?? never)));
        return reply.result(modelId, begun.warnings)
      } catch (error) {
        throw modelError(error, modelId)
      }
    },
    async doStream(call) {
      const begun = await begin(call)
      const left = new AbortController()
      const signal = call.abortSignal ? AbortSignal.any([call.abortSignal, left.signal]) : left.signal
      const parts = replying(begun, new Reply(), begun.turn.step(signal))
      const source: UnderlyingDefaultSource<StreamPart> = {
        start: (controller) => controller.enqueue({ type: 'stream-start', warnings: begun.warnings }),
        async pull(controller) {
          try {
            const { done, value } = await parts.next()
            if (done) controller.close()
            else controller.enqueue(value.type === 'error' ? failed(value, modelId) : value)
          } catch (error) {
            controller.error(modelError(error, modelId))
          }
        },
        cancel: () => left.abort(),
      }
      // No read-ahead, because the turn can be resumed only if the reader received the end of the response.
      const stream = new ReadableStream(source, { highWaterMark: 0 })
      return { stream }
    },
  }
}

/**
 * Adds each part to `reply` and yields it. Calls `replied` before it yields the end, because a caller that
 * has received the end may continue the history at once.
 */
async function* replying(
  begun: Begun,
  reply: Reply,
  parts: AsyncGenerator<StreamPart>,
): AsyncGenerator<StreamPart> {
  for await (const part of parts) {
    reply.add(part)
    if (part.type === 'finish') begun.replied(reply)
    yield part
  }
}

function failed(part: Extract<StreamPart, { type: 'error' }>, modelId: string): StreamPart {
  return { type: 'error', error: modelError(part.error, modelId) }
}

function noSuchModel(modelId: string, modelType: string): never {
  const message = `Agents are language models: there is no ${modelType} "${modelId}".`
  throw new LanguageModelError(new ParleyError('not_supported', message), 'AI_NoSuchModelError', {
    modelId,
    modelType,
  })
}
