import type { PermissionRequest, QuestionRequest } from '@opencode-ai/sdk/v2/client'
import { type PermissionContext, PermissionRequests, type RecordedCall } from './permission.ts'
import { QuestionRequests } from './question.ts'
import type { NativeAgent } from './rules.ts'

export type RequestContext = Omit<PermissionContext, 'recordedCall' | 'agent' | 'agentIn'> & {
  readonly agents: readonly NativeAgent[]
}

export class Requests {
  readonly #permissions: PermissionRequests
  readonly #questions: QuestionRequests
  /** The calls that the host has recorded, by OpenCode's own keys. A request must not precede its call. */
  readonly #calls = new Map<string, PromiseWithResolvers<RecordedCall | undefined>>()

  /** The name of the current agent of each session. */
  readonly #agents = new Map<string, string>()

  constructor({ agents, ...context }: RequestContext) {
    const agent = (name: string) => agents.find((one) => one.name === name)
    const whole = {
      ...context,
      recordedCall: (key: string) => this.#call(key).promise,
      agent,
      agentIn: (sessionID: string) => agent(this.#agents.get(sessionID) ?? ''),
    }
    this.#permissions = new PermissionRequests(whole)
    this.#questions = new QuestionRequests(whole)
  }

  /** Handles the events that concern requests and ignores all others. */
  take(type: string, properties: Readonly<Record<string, unknown>>): void {
    const requestId = String(properties.requestID)
    switch (type) {
      case 'permission.asked':
        return void this.#permissions.ask(properties as PermissionRequest)
      case 'permission.replied':
        return this.#permissions.settle(requestId)
      case 'question.asked':
        return void this.#questions.ask(properties as QuestionRequest)
      case 'session.created': {
        const { id, agent = '' } = properties.info as { id: string; agent?: string }
        return this.useAgent(id, agent)
      }
      case 'question.replied':
      case 'question.rejected':
        return this.#questions.settle(requestId)
    }
  }

  /** Sets the current agent of a session. The rules of this agent decide what may run without asking. */
  useAgent(sessionID: string, name: string): void {
    this.#agents.set(sessionID, name)
  }

  /** Called when the host has recorded a call: requests about it may follow. */
  callRecorded(key: string, call: RecordedCall): void {
    this.#call(key).resolve(call)
  }

  /** Called after events were missed, with the requests that wait in OpenCode now. */
  reconcile(permissions: readonly PermissionRequest[], questions: readonly QuestionRequest[]): void {
    this.#permissions.reconcile(permissions)
    this.#questions.reconcile(questions)
  }

  /** Called when the turn was stopped: rejects all waiting requests. */
  async refuseAll(): Promise<void> {
    await Promise.all([this.#permissions.refuseAll(), this.#questions.rejectAll()])
  }

  /** Called when another turn begins: drops all requests of the previous turn. */
  async clear(): Promise<void> {
    this.end()
    await Promise.all([this.#permissions.clear(), this.#questions.clear()])
  }

  /** Called when no more calls will be recorded: requests no longer wait for their calls. */
  end(): void {
    for (const call of this.#calls.values()) call.resolve(undefined)
    this.#calls.clear()
  }

  #call(key: string): PromiseWithResolvers<RecordedCall | undefined> {
    const call = this.#calls.get(key) ?? Promise.withResolvers<RecordedCall | undefined>()
    this.#calls.set(key, call)
    return call
  }
}
