import { type Me, ParleyError, visible } from '@parley/protocol'
import type { Connected } from '../connect.ts'
import type { Context } from '../context.ts'
import { type Answerer, TerminalPerson } from '../terminal/person.ts'
import { createPolicy } from '../terminal/policy.ts'
import { createRequestNotices } from '../terminal/request-notices.ts'
import type { Screen } from '../terminal/screen.ts'
import { mayDecide, whoCanDecide } from '../who-can-decide.ts'

type PolicyOption = { readonly onPermission?: string }

type Asked = {
  readonly server: Connected
  readonly sessionId: string
  readonly context: Context
  readonly screen: Screen
  readonly me: Me
  readonly options: PolicyOption
}

type Listeners = {
  /** Stops the turn; `why` is printed. */
  readonly stop: (why: string | undefined) => void
  /** Called when --on-permission has decided a request. */
  readonly onDecision: (requestId: string) => void
}

/**
 * Creates the answerer for one `run`: the person at the terminal answers its requests, --on-permission decides them, or
 * another client must answer.
 */
export function createRunAnswerer(asked: Asked, { stop, onDecision }: Listeners): Answerer {
  const { server, sessionId, context, screen, options, me } = asked
  const { client } = server
  const policy = policyOf(options, context)
  const style = context.output.errStyle
  if (!mayDecide(me)) return answererWithoutRights(asked, stop)
  const onEnd = () => stop('no answer was given; stopping the turn')
  const person = context.output.canAsk
    ? new TerminalPerson({ client, sessionId, screen, style, onEnd })
    : undefined
  if (policy === 'ask') return person ?? waitForOthers(asked)
  return createPolicy({
    client,
    sessionId,
    decision: policy,
    isFlag: options.onPermission !== undefined,
    person,
    onDecision: (requestId, line) => {
      onDecision(requestId)
      screen.say(`parley: ${line}`)
    },
    onQuestion: () =>
      stop(
        'the agent asks a question and nobody is there to answer it; stopping the turn. Run this command in a terminal, or send the prompt in the console',
      ),
    onError: (thrown) =>
      stop(
        `could not answer a permission request (${visible((thrown as Error).message)}); stopping the turn`,
      ),
  })
}

/**
 * Used if the token may not decide. Without a terminal, nobody would see that the turn waits, so the turn is
 * stopped.
 */
function answererWithoutRights(asked: Asked, stop: (why: string) => void): Answerer {
  const { server, sessionId, context, screen, options, me } = asked
  const where = whoCanDecide(me, { url: server.url, sessionId })
  if (policyOf(options, context) === 'ask') {
    const { client } = server
    return createRequestNotices({ client, sessionId, screen, style: context.output.errStyle, where })
  }
  const requested = () =>
    stop(
      `the agent asks for an answer; stopping the turn. With --on-permission ask, the turn waits for it. ${where}`,
    )
  return { requested, resolved: () => {}, reconnected: () => {} }
}

function waitForOthers({ screen, sessionId, context }: Asked): Answerer {
  return {
    requested: () =>
      screen.say(
        `parley: waiting for an answer from another client. To answer: ${context.commandLine(`attach ${sessionId}`)}`,
      ),
    resolved: () => {},
    reconnected: () => {},
  }
}

const policies = ['ask', 'deny', 'allow'] as const

export function policyOf({ onPermission }: PolicyOption, { output }: Context): (typeof policies)[number] {
  if (onPermission === undefined) return output.canAsk ? 'ask' : 'deny'
  const policy = policies.find((known) => known === onPermission)
  if (policy) return policy
  throw new ParleyError(
    'validation_error',
    `--on-permission takes ask, deny or allow, not "${onPermission}".`,
  )
}

/** Throws ParleyError `forbidden` if --on-permission decides requests, and the token may not. */
export function expectPolicy({ onPermission }: PolicyOption, me: Me): void {
  if (onPermission === undefined || onPermission === 'ask' || mayDecide(me)) return
  throw new ParleyError(
    'forbidden',
    `--on-permission ${onPermission} decides requests, and the token "${me.name}" cannot: it does not have the scope "decide". Use another token, or --on-permission ask, with which the turn waits for an answer in the console.`,
  )
}
