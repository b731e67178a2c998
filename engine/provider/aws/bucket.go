package aws

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/orkspace/orkestra/engine/provider"
)

type bucketSpec struct {
	Name              string            `json:"name"`
	Region            string            `json:"region"`
	Versioning        *bool             `json:"versioning"`
	Tags              map[string]string `json:"tags"`
	Policy            map[string]any    `json:"policy"`
	Lifecycle         []lifecycleRule   `json:"lifecycle"`
	Encryption        *encryption       `json:"encryption"`
	PublicAccessBlock *bool             `json:"publicAccessBlock"`
	ForceDestroy      bool              `json:"forceDestroy"`
}

type bucketDriver struct{ services *services }

// bucket is one bucket, for one call.
type bucket struct {
	r      *provider.Request
	spec   bucketSpec
	client *s3.Client
	tags   map[string]string
}

func (d bucketDriver) open(ctx context.Context, r *provider.Request) (*bucket, error) {
	b := &bucket{r: r}
	if err := r.Decode(&b.spec); err != nil {
		return nil, err
	}
	if err := reserved(b.spec.Tags); err != nil {
		return nil, err
	}
	config, err := d.services.config(ctx, r, b.spec.Region)
	if err != nil {
		return nil, err
	}
	b.client = s3.NewFromConfig(config, func(o *s3.Options) {
		// Other stores have no names in DNS for their buckets. Directory buckets are no resource of this kind.
		o.UsePathStyle = r.Endpoint != ""
		o.DisableS3ExpressSessionAuth = aws.Bool(true)
	})
	return b, nil
}

func (b *bucket) name() *string { return aws.String(b.spec.Name) }

// find reads the tags, which is at once whether the bucket is there, and whose it is.
func (b *bucket) find(ctx context.Context) (ownership, error) {
	out, err := b.client.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: b.name()})
	b.tags = map[string]string{}
	if err = explain(ctx, b.r, err); err != nil {
		switch code(err) {
		case "NoSuchTagSet", "NoSuchTagSetError":
			return unmarked, nil
		case "NoSuchBucket":
			return absent, nil
		}
		return absent, err
	}
	if out.TagSet == nil {
		return absent, &provider.Error{Class: provider.Transient, Operation: "GetBucketTagging", Message: "the answer has no TagSet, and is none of S3"}
	}
	for _, tag := range out.TagSet {
		b.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return whose(b.tags, b.r), nil
}

// lost says that an unmarked bucket is what a call of ours has made, whose answer was lost before the bucket could be marked. Amazon S3 marks
// buckets as it makes them.
func (b *bucket) lost() bool {
	return b.r.Absent && b.r.Endpoint != "" && b.r.Noted[notedMarked] == ""
}

func (b *bucket) mayTouch(is ownership) bool {
	return is == ours || is == unmarked && (b.r.Adopt || b.lost())
}

func (b *bucket) refusal(operation string) error {
	return refusal(b.r, operation, "the bucket "+b.spec.Name, untag, b.tags)
}

// Ensure makes the bucket, marks it, and corrects what differs.
func (d bucketDriver) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	b, err := d.open(ctx, r)
	if err != nil {
		return nil, err
	}
	is, err := b.find(ctx)
	if err != nil {
		return nil, err
	}
	made := false
	if is == absent {
		if is, made, err = b.create(ctx); err != nil {
			return nil, err
		}
	}
	if !b.mayTouch(is) && (is != unmarked || !made || r.Endpoint == "") {
		return nil, b.refusal("CreateBucket")
	}
	changed, err := b.correct(ctx)
	if err != nil {
		return nil, err
	}
	return &provider.Observed{Outputs: b.outputs(), Differs: changed, Created: made, Noted: b.note()}, nil
}

// Observe compares.
func (d bucketDriver) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	b, err := d.open(ctx, r)
	if err != nil {
		return nil, err
	}
	is, err := b.find(ctx)
	switch {
	case err != nil:
		return nil, err
	case is == absent:
		return nil, &provider.Error{Class: provider.NotFound, Operation: "GetBucketTagging", Code: "NoSuchBucket", Message: "there is no bucket " + b.spec.Name}
	case !b.mayTouch(is):
		return nil, b.refusal("GetBucketTagging")
	}
	differs, err := b.differs(ctx)
	if err != nil {
		return nil, err
	}
	return &provider.Observed{Outputs: b.outputs(), Differs: differs, Token: b.tags[markToken]}, nil
}

// create makes the bucket together with its mark, and reads what has become of it: in us-east-1, and in some stores, making a bucket that is
// there already is a success.
func (b *bucket) create(ctx context.Context) (is ownership, made bool, err error) {
	configuration := &types.CreateBucketConfiguration{Tags: tagSet(retag(nil, b.spec.Tags, b.r).all)}
	if b.spec.Region != globalRegion {
		configuration.LocationConstraint = types.BucketLocationConstraint(b.spec.Region)
	}
	err = b.make(ctx, configuration)
	if err != nil && b.r.Endpoint != "" && withoutTags(err) {
		if configuration.Tags = nil; configuration.LocationConstraint == "" {
			configuration = nil
		}
		err = b.make(ctx, configuration)
	}
	taken := code(err) == "BucketAlreadyOwnedByYou"
	if err != nil && !taken {
		if provider.IsClass(err, provider.NotOwned) {
			return absent, false, &provider.Error{Class: provider.NotOwned, Operation: "CreateBucket", Code: code(err), Message: "the bucket " + b.spec.Name + " belongs to another account: declare another name"}
		}
		return absent, false, err
	}
	is, err = b.find(ctx)
	if err == nil && is == absent {
		err = &provider.Error{Class: provider.Transient, Operation: "CreateBucket", Message: "the bucket was made, and is not visible yet"}
	}
	return is, !taken, err
}

func (b *bucket) make(ctx context.Context, configuration *types.CreateBucketConfiguration) error {
	_, err := b.client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: b.name(), CreateBucketConfiguration: configuration})
	return explain(ctx, b.r, err)
}

// withoutTags says that a store may have refused tags that it does not know.
func withoutTags(err error) bool {
	switch code(err) {
	case "MalformedXML", "InvalidRequest", "InvalidArgument", "NotImplemented", "InvalidLocationConstraint":
		return true
	}
	return false
}

func tagSet(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, key := range sortedKeys(tags) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

func (b *bucket) note() map[string]string {
	out := map[string]string{notedMarked: noted}
	if b.spec.ForceDestroy {
		out[notedForce] = noted
	}
	if len(b.spec.Tags) > 0 {
		out[notedTags] = tagNote(b.spec.Tags)
	}
	return out
}

func (b *bucket) outputs() map[string]any {
	partition, domain := partitionOf(b.spec.Region)
	endpoint := "https://s3." + b.spec.Region + "." + domain
	url := "https://" + b.spec.Name + ".s3." + b.spec.Region + "." + domain
	if b.r.Endpoint != "" {
		endpoint = strings.TrimSuffix(b.r.Endpoint, "/")
		url = endpoint + "/" + b.spec.Name
	}
	return map[string]any{fieldName: b.spec.Name, "arn": "arn:" + partition + ":s3:::" + b.spec.Name, fieldRegion: b.spec.Region, "endpoint": endpoint, "url": url}
}

// partitionOf is the part of AWS to which a region belongs, with its domain.
func partitionOf(region string) (partition, domain string) {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn", "amazonaws.com.cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov", "amazonaws.com"
	default:
		return "aws", "amazonaws.com"
	}
}
