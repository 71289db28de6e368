import type { ServicePlan, ServiceRecord } from './service-plan.ts'

/**
 * Formats the property list of a service for launchd. launchd starts the service when the user logs in, and
 * again after it failed. launchd kills the processes that the server leaves behind.
 */
export function launchdAgent({ name, command, variables, record }: ServicePlan, logFile: string): string {
  const words = command.map((word) => `    <string>${escaped(word)}</string>`)
  const pairs = Object.entries(variables).map(
    ([key, value]) => `    <key>${escaped(key)}</key>\n    <string>${escaped(value)}</string>`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escaped(name)}</string>
  <key>${recordKey}</key>
  <string>${escaped(JSON.stringify(record))}</string>
  <key>ProgramArguments</key>
  <array>
${words.join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${pairs.join('\n')}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>ExitTimeOut</key>
  <integer>30</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  <string>${escaped(logFile)}</string>
  <key>StandardErrorPath</key>
  <string>${escaped(logFile)}</string>
</dict>
</plist>
`
}

/** launchd ignores keys that it does not know. */
const recordKey = 'ParleyService'

export function recordOfAgent(text: string): ServiceRecord | undefined {
  const json = new RegExp(`<key>${recordKey}</key>\\s*<string>(.*?)</string>`, 's').exec(text)?.[1]
  return json === undefined ? undefined : (JSON.parse(unescaped(json)) as ServiceRecord)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => entities[character] ?? character)
}

function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
