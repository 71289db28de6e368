import { onMac } from '../base/key-names.ts'
import { Key } from '../parts/button.tsx'
import { Section } from './section.tsx'

const keys: [string, readonly (readonly [keys: readonly string[], does: string])[]][] = [
  [
    'Anywhere',
    [
      [['Ctrl', 'K'], 'Command palette'],
      [['N'], 'New session'],
      [['I'], 'Inbox'],
      [['['], 'Previous session'],
      [[']'], 'Next session'],
      [['↑', '↓'], 'Move through the session list'],
      [['/'], 'Focus the prompt'],
      [['?'], 'Keyboard shortcuts'],
    ],
  ],
  [
    'Writing',
    [
      [['Enter'], 'Send, or queue while the agent works'],
      [['Ctrl', 'Enter'], 'Steer: send into the running turn'],
      [['Shift', 'Enter'], 'New line'],
      [['Esc'], 'Stop the turn'],
      [['↑'], 'Previous prompt'],
      [['/'], 'Agent commands'],
      [['@'], 'Files in the folder'],
    ],
  ],
  [
    'Answering requests',
    [
      [['1'], 'Allow once, or approve the plan'],
      [['2'], 'Allow for this session'],
      [['3'], 'Deny, or request changes to the plan'],
      [['1', '…', '9'], 'Choose an answer'],
      [['Enter'], 'Send the answers'],
    ],
  ],
  [
    'Reading',
    [
      [['Ctrl', 'F'], 'Find in this session'],
      [['J'], 'Next row'],
      [['K'], 'Previous row'],
      [['G'], 'Jump to latest'],
    ],
  ],
  [
    'In a terminal',
    [
      [['F6'], 'Back to the prompt'],
      [['Ctrl', 'Shift', 'F'], 'Find in the terminal'],
      // On a Mac, Command+K opens the palette and is never sent to the shell.
      ...(onMac ? [] : [[['Ctrl', 'K'], 'Sent to the shell'] as const]),
    ],
  ],
]

export const keysPurpose =
  'Single keys work when the focus is not in a text field, a menu, a terminal or a side panel.'

/** The keyboard shortcuts, for the settings and the `?` dialog. */
export function KeyTable() {
  return (
    <div className="grid gap-6 sm:grid-cols-2">
      {keys.map(([title, rows]) => (
        <section key={title} aria-label={title}>
          <h3 className="pb-1.5 text-sm font-semibold">{title}</h3>
          <dl className="flex flex-col gap-1 text-sm">
            {rows.map(([combination, does]) => (
              <div key={does} className="flex items-baseline gap-3">
                <dt className="flex w-28 shrink-0 gap-1">
                  {combination.map((key) => (
                    <Key key={key} always>
                      {key}
                    </Key>
                  ))}
                </dt>
                <dd className="text-soft">{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  )
}

export function KeysSection() {
  return (
    <Section title="Keyboard shortcuts" purpose={keysPurpose}>
      <KeyTable />
    </Section>
  )
}
