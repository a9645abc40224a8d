import io.aeron.security.Authenticator;
import io.aeron.security.SessionProxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Accepts a session whose credentials are a token, and rejects others; or challenges all, and expects it then. */
final class TokenAuthenticator implements Authenticator
{
    private static final byte[] CHALLENGE = "token?".getBytes(StandardCharsets.US_ASCII);
    private final byte[] token;
    private final boolean challenges;
    private byte[] credentials;

    TokenAuthenticator(final String token, final boolean challenges)
    {
        this.token = token.getBytes(StandardCharsets.US_ASCII);
        this.challenges = challenges;
    }

    public void onConnectRequest(final long sessionId, final byte[] encodedCredentials, final long nowMs)
    {
        credentials = encodedCredentials;
    }

    public void onChallengeResponse(final long sessionId, final byte[] encodedCredentials, final long nowMs)
    {
        credentials = encodedCredentials;
    }

    public void onConnectedSession(final SessionProxy sessionProxy, final long nowMs)
    {
        if (challenges)
        {
            credentials = null;
            sessionProxy.challenge(CHALLENGE);
        }
        else
        {
            decide(sessionProxy);
        }
    }

    public void onChallengedSession(final SessionProxy sessionProxy, final long nowMs)
    {
        if (null != credentials)
        {
            decide(sessionProxy);
        }
    }

    private void decide(final SessionProxy sessionProxy)
    {
        if (Arrays.equals(token, credentials))
        {
            sessionProxy.authenticate(token);
        }
        else
        {
            sessionProxy.reject();
        }
    }
}
