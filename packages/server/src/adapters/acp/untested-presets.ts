import type { AcpAgent } from './agent.ts'

/** The agents that no test runs. They have only the capabilities that the protocol requires of every agent. */

export const goose: AcpAgent = {
  id: 'goose',
  name: 'Goose',
  description: 'Goose, over the Agent Client Protocol.',
  command: 'goose',
  args: ['acp'],
  vendor: ['GOOSE_', 'ANTHROPIC_', 'OPENAI_', 'GOOGLE_', 'DATABRICKS_'],
  installGuide: 'https://goose-docs.ai/docs/getting-started/installation',
  signIn: {
    hint: 'Configure it once with the program itself: {program} configure',
    command: '{program} configure',
  },
}

export const kimi: AcpAgent = {
  id: 'kimi',
  name: 'Kimi',
  description: 'Kimi CLI by Moonshot AI, over the Agent Client Protocol.',
  command: 'kimi',
  args: ['acp'],
  vendor: ['KIMI_', 'MOONSHOT_'],
  installGuide: 'https://github.com/MoonshotAI/kimi-cli',
  signIn: { hint: 'Sign in once with the program itself: {program} login', command: '{program} login' },
}

export const copilot: AcpAgent = {
  id: 'copilot',
  name: 'GitHub Copilot',
  description: 'Copilot CLI by GitHub, over the Agent Client Protocol.',
  command: 'copilot',
  args: ['--acp', '--stdio'],
  vendor: ['COPILOT_', 'GH_', 'GITHUB_'],
  installGuide: 'https://github.com/github/copilot-cli',
  signIn: {
    hint: 'Sign in once with the program itself: run {program} and type /login',
    command: '{program}',
  },
}

export const cursor: AcpAgent = {
  id: 'cursor',
  name: 'Cursor',
  description: 'Cursor CLI, over the Agent Client Protocol.',
  command: 'cursor-agent',
  args: ['acp'],
  vendor: ['CURSOR_'],
  installGuide: 'https://cursor.com/docs/cli/installation',
  signIn: {
    hint: 'Set CURSOR_API_KEY, or sign in once with the program itself: {program} login',
    command: '{program} login',
    variables: ['CURSOR_API_KEY', 'CURSOR_AUTH_TOKEN'],
  },
}
