import { onMac } from '../page/key-words.ts'
import { Key } from '../parts/button.tsx'
import { Section } from './section.tsx'

const keys: [string, readonly (readonly [keys: readonly string[], does: string])[]][] = [
  [
    'Anywhere',
    [
      [['Ctrl', 'K'], 'The palette: go anywhere, do anything'],
      [['N'], 'New session'],
      [['I'], 'Inbox'],
      [['['], 'The session above'],
      [[']'], 'The session below'],
      [['↑', '↓'], 'Within the list: from session to session'],
      [['/'], 'Write'],
      [['?'], 'These keys'],
    ],
  ],
  [
    'Writing',
    [
      [['Enter'], 'Send, or queue while the agent works'],
      [['Ctrl', 'Enter'], 'Steer: into the running turn'],
      [['Shift', 'Enter'], 'New line'],
      [['Esc'], 'Stop the turn'],
      [['↑'], 'The prompt before'],
      [['/'], 'Commands of the agent'],
      [['@'], 'Files of the folder'],
    ],
  ],
  [
    'When something waits',
    [
      [['1'], 'Allow once'],
      [['2'], 'Allow for this session'],
      [['3'], 'Deny'],
      [['1', '…', '9'], 'Choose an answer'],
      [['Enter'], 'Send the answers'],
    ],
  ],
  [
    'Reading',
    [
      [['Ctrl', 'F'], 'Find in this session'],
      [['J'], 'Next row'],
      [['K'], 'Row before'],
      [['G'], 'To the latest'],
    ],
  ],
  [
    'In a terminal',
    [
      [['F6'], 'Leave it, to write a prompt'],
      [['Ctrl', 'Shift', 'F'], 'Find in the terminal'],
      // With the key of a Mac it is the page's: no shell hears of it.
      ...(onMac ? [] : [[['Ctrl', 'K'], 'Stays with the shell'] as const]),
    ],
  ],
]

export function KeysSection() {
  return (
    <Section
      title="Keys"
      purpose="What the keyboard does: a letter or sign alone works where nothing else takes it, so not in a field, a menu, a terminal or a panel beside the conversation."
    >
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
    </Section>
  )
}
