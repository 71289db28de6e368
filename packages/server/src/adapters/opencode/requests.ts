import type { NativePermission, NativeQuestionRequest } from './native.ts'
import { type DeskContext, PermissionDesk } from './permission.ts'
import { QuestionDesk } from './question.ts'

/** All requests of OpenCode to a person. */
export class Requests {
  readonly #permissions: PermissionDesk
  readonly #questions: QuestionDesk

  constructor(context: DeskContext) {
    this.#permissions = new PermissionDesk(context)
    this.#questions = new QuestionDesk(context)
  }

  /** Takes an event; most do not concern requests. */
  hear(type: string, properties: Readonly<Record<string, unknown>>): void {
    const requestId = String(properties.requestID)
    switch (type) {
      case 'permission.asked':
        return void this.#permissions.ask(properties as NativePermission)
      case 'permission.replied':
        return this.#permissions.settle(requestId)
      case 'question.asked':
        return void this.#questions.ask(properties as NativeQuestionRequest)
      case 'question.replied':
      case 'question.rejected':
        return this.#questions.settle(requestId)
    }
  }

  /** Takes the requests that wait in OpenCode now, after events were missed. */
  reconcile(permissions: readonly NativePermission[], questions: readonly NativeQuestionRequest[]): void {
    this.#permissions.reconcile(permissions)
    this.#questions.reconcile(questions)
  }

  /** The turn was stopped: waiting requests are rejected. */
  async refuseAll(): Promise<void> {
    await Promise.all([this.#permissions.refuseAll(), this.#questions.rejectAll()])
  }

  /** Another turn begins. */
  async clear(): Promise<void> {
    await Promise.all([this.#permissions.clear(), this.#questions.clear()])
  }
}
