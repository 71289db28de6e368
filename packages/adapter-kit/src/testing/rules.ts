import { type CapabilityName, capabilityNames } from '@parley/protocol'

/**
 * The rules of an adapter that do not belong to one capability. A name is permanent: it is the anchor of the section of
 * docs/adapters.md that explains the rule.
 */
export const generalRules = {
  'declared-capabilities': 'An adapter shows every capability that it declares, and declares no other.',
  probe: 'A probe finds the agent, never throws, and leaves no process behind.',
  connect:
    '`connect` rejects only with a ParleyError, if the agent cannot be started; then no process is left.',
  connected: 'A connection reports itself with `agent.connected`, and serves all turns of its session.',
  'failures-are-outputs': 'After `connect`, nothing throws: every failure of the agent is an output.',
  'one-end-of-a-turn': 'Every turn ends with one `turn.ended`, or with the end of `events`.',
  'nothing-after-the-end':
    'Nothing of a turn comes after its `turn.ended`, and nothing at all after `agent.disconnected`.',
  blocks:
    'The deltas of a block add up to its text, under one id from the first delta on. No id is used again.',
  'tool-calls': 'Every `tool-call.called` has one `tool-call.ended` in its turn.',
  requests: 'A request about a call is made after the call was recorded, and is answered once.',
  'denied-calls': 'A call that was denied has no effect, and ends as denied.',
  diffs: 'A change of a file is shown as a diff before it is made.',
  'native-messages': 'Native messages are passed on for diagnosis.',
  'unknown-messages': 'A message that is not understood is passed on as `agent.unrecognised`, unchanged.',
  cancel: 'A turn that is interrupted ends as cancelled, and the next turn runs.',
  crash:
    'If the agent dies, `agent.disconnected` gives the reason and `events` ends. The next prompt connects again.',
  close:
    '`close` ends the process, and `events` after `agent.disconnected`. It can be called several times, at any time.',
  kill: '`kill` ends the process and all its descendants at once, and `events` ends.',
  isolation: 'No connection can observe the state of another connection.',
} as const satisfies Readonly<Record<string, string>>

export type GeneralRule = keyof typeof generalRules
/** The name of a rule. The rule of a capability has the name of the capability in kebab-case. */
export type RuleName = GeneralRule | Kebab<CapabilityName>

type Kebab<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `-${Lowercase<First>}`}${Kebab<Rest>}`
  : ''

export function ruleOf<Name extends CapabilityName>(capability: Name): Kebab<Name> {
  return capability.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) as Kebab<Name>
}

/** Every anchor that docs/adapters.md must have. */
export const ruleAnchors: readonly RuleName[] = [
  ...(Object.keys(generalRules) as GeneralRule[]),
  ...capabilityNames.map(ruleOf),
]

/** Where a rule is explained. */
export function readAbout(rule: RuleName): string {
  return `docs/adapters.md#${rule}`
}
